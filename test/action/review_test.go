package action

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/test/codehost"
)

const (
	ofPull   = `{"pull_request": {"number": 7, "head": {"sha": "abc"}}}`
	webYAML  = "apiVersion: pequod.io/v1alpha1\nkind: WebService\nmetadata: {name: web, namespace: shop}\nspec:\n  image: ghcr.io/shop/web:1.4.0\n  port: 8080\n"
	settings = "filename: [apps]\n"
)

// checkout makes a repository with a branch main and a pull request that writes files.
func checkout(t *testing.T, j *job, change map[string]string) string {
	t.Helper()
	dir := filepath.Join(j.dir, "checkout")
	git := func(args ...string) {
		t.Helper()
		env := append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
		if out, code := run(t, dir, env, "git", args...); code != 0 {
			t.Fatalf("git %v: %s", args, out)
		}
	}
	writeFile(t, filepath.Join(dir, "apps", "web.yaml"), webYAML, 0o644)
	writeFile(t, filepath.Join(dir, "pequod.yaml"), settings, 0o644)
	git("init", "-q", "-b", "main")
	git("add", "-A")
	git("commit", "-q", "-m", "main")
	git("switch", "-q", "-c", "change")
	for file, text := range change {
		writeFile(t, filepath.Join(dir, file), text, 0o644)
	}
	git("add", "-A")
	git("commit", "-q", "--allow-empty", "-m", "change")
	return dir
}

// evilYAML has a value that a host would take for Markdown, mentions and commands.
var evilYAML = strings.Replace(webYAML, "web, namespace", "evil, namespace", 1) +
	"  env:\n    EVIL: \"</details>\\n::error::x\\n@acme/team\\n```\\n/approve\"\n"

// inputs are those of action.yml, as the runner sets them, with some of them changed.
func inputs(change ...string) []string {
	return append([]string{
		"INPUT_FILES=", "INPUT_PLATFORMS=", "INPUT_POLICIES=", "INPUT_BASE=main", "INPUT_FAIL_ON=", "INPUT_VALIDATE=true",
		"INPUT_CHECK=", "INPUT_CRDS=",
		"INPUT_COMMENT=true", "INPUT_LINK=https://example.com/run/5", "FORK=false",
	}, change...)
}

// TestReview reviews pull requests as the action does.
func TestReview(t *testing.T) {
	for name, test := range map[string]struct {
		change map[string]string
		inputs []string
		event  string
		code   int
		// comment is a part of the comment, or "" if there must be none.
		comment, annotation string
		labels              []string
		outputs             string
	}{
		"an image": {
			change:  map[string]string{"apps/web.yaml": strings.Replace(webYAML, "1.4.0", "1.5.0", 1)},
			comment: "0 to add, 1 to change, 0 to remove", labels: []string{"pequod/restarts"},
			outputs: "comment=created\nchanged=true\nverdict=0 to add, 1 to change, 0 to remove · 1 rolling restart\nconditions=restarts\n",
		},
		"nothing": {outputs: "comment=nothing\nchanged=false\nverdict=0 to add, 0 to change, 0 to remove\nconditions=\n"},
		"a condition that fails": {
			change: map[string]string{"apps/web.yaml": strings.Replace(webYAML, "1.4.0", "1.5.0", 1)},
			inputs: []string{"INPUT_FAIL_ON=removals,restarts"}, code: 1,
			comment: "rolling restart", labels: []string{"pequod/restarts"},
			outputs: "comment=created\nchanged=true\nverdict=0 to add, 1 to change, 0 to remove · 1 rolling restart\nconditions=restarts\n",
		},
		"a fork": {
			change:  map[string]string{"apps/web.yaml": strings.Replace(webYAML, "1.4.0", "1.5.0", 1)},
			inputs:  []string{"FORK=true", "GITHUB_TOKEN=fork"},
			outputs: "comment=skipped\nchanged=true\nverdict=0 to add, 1 to change, 0 to remove · 1 rolling restart\nconditions=restarts\n",
		},
		"a wrong instance": {
			change: map[string]string{"apps/web.yaml": strings.Replace(webYAML, "8080", "70000", 1)},
			code:   2, annotation: "::error file=apps/web.yaml,line=6,col=9,title=constraint::spec.port: 70000 is not <=65535",
			comment: "70000", labels: []string{"pequod/breaking"},
			outputs: "comment=created\nchanged=true\nverdict=0 to add, 0 to change, 0 to remove · 1 instance unknown\nconditions=breaking\n",
		},
		"a pull request that moved on": {
			change: map[string]string{"apps/web.yaml": strings.Replace(webYAML, "1.4.0", "1.5.0", 1)},
			event:  strings.Replace(ofPull, "abc", "old", 1), outputs: "",
		},
		"hostile values": {
			change:  map[string]string{"apps/evil.yaml": evilYAML},
			comment: "to add", outputs: "comment=created\nchanged=true\nverdict=3 to add, 0 to change, 0 to remove\nconditions=\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			event := ofPull
			if test.event != "" {
				event = test.event
			}
			j := newJob(t, event, inputs(test.inputs...)...)
			out, code := j.script(t, checkout(t, j, test.change), "review.sh")
			if code != test.code || !strings.Contains(out, test.annotation) {
				t.Errorf("exit code %d; want %d, %s:\n%s", code, test.code, test.annotation, out)
			}
			if diff := cmp.Diff(test.outputs, j.outputs(t)); diff != "" {
				t.Errorf("outputs (-want +got):\n%s\n%s", diff, out)
			}
			j.host.Change(7, func(p *codehost.Pull) {
				if diff := cmp.Diff(test.labels, p.Labels); diff != "" {
					t.Errorf("labels (-want +got):\n%s", diff)
				}
				switch {
				case test.comment == "" && len(p.Comments) == 0:
				case len(p.Comments) != 1 || !strings.Contains(p.Comments[0].Body, test.comment):
					t.Errorf("comments %+v; want %q", p.Comments, test.comment)
				case strings.Contains(p.Comments[0].Body, "\n@acme") || strings.Contains(p.Comments[0].Body, "\n</details>\\n"):
					t.Errorf("values of strangers are Markdown:\n%s", p.Comments[0].Body)
				}
			})
		})
	}
}

// TestReviewTwice updates the comment of the first run, and folds it up when the change
// is taken back.
func TestReviewTwice(t *testing.T) {
	j := newJob(t, ofPull, inputs()...)
	newer := strings.Replace(webYAML, "1.4.0", "1.5.0", 1)
	dir := checkout(t, j, map[string]string{"apps/web.yaml": newer})
	for _, text := range []string{newer, strings.Replace(webYAML, "1.4.0", "1.6.0", 1), webYAML} {
		writeFile(t, filepath.Join(dir, "apps", "web.yaml"), text, 0o644)
		if out, code := j.script(t, dir, "review.sh"); code != 0 {
			t.Fatalf("exit code %d:\n%s", code, out)
		}
	}
	comments := j.host.Comments(7)
	if len(comments) != 1 || !comments[0].Minimized || !strings.Contains(comments[0].Body, "Nothing changes any more.") {
		t.Errorf("comments %+v", comments)
	}
	for _, want := range []string{"comment=created\n", "comment=updated\n", "comment=hidden\n"} {
		if !strings.Contains(j.outputs(t), want) {
			t.Errorf("no output %s:\n%s", want, j.outputs(t))
		}
	}
	j.host.Change(7, func(p *codehost.Pull) {
		if len(p.Labels) > 0 {
			t.Errorf("labels %v", p.Labels)
		}
	})
}

// TestTwoReviews uses the action twice in one job. Both have a comment, labels and reports.
func TestTwoReviews(t *testing.T) {
	j := newJob(t, ofPull, inputs()...)
	dir := checkout(t, j, map[string]string{
		"apps/web.yaml":   strings.Replace(webYAML, "1.4.0", "1.5.0", 1),
		"other/late.yaml": strings.Replace(webYAML, "name: web", "name: late", 1),
	})
	for _, env := range [][]string{nil, {"INPUT_NAME=other", "INPUT_LABEL_PREFIX=other/", "INPUT_FILES=other"}} {
		j.env = append(j.env, env...)
		if out, code := j.script(t, dir, "review.sh"); code != 0 {
			t.Fatalf("exit code %d:\n%s", code, out)
		}
	}
	reports := j.reports(t)
	if len(reports) != 2 {
		t.Fatalf("reports in %q", reports)
	}
	comments := j.host.Comments(7)
	if len(comments) != 2 {
		t.Fatalf("comments %+v", comments)
	}
	for i, want := range []string{"0 to add, 1 to change, 0 to remove", "3 to add, 0 to change, 0 to remove"} {
		if !strings.Contains(comments[i].Body, want) {
			t.Errorf("comment %s; want %s", comments[i].Body, want)
		}
		for _, file := range []string{"review.md", "review.html", "review.json", "review.text"} {
			if text := readFile(t, filepath.Join(reports[i], file)); !strings.Contains(text, want) {
				t.Errorf("%s of review %d isn't of %s", file, i, want)
			}
		}
	}
	j.host.Change(7, func(p *codehost.Pull) {
		if diff := cmp.Diff([]string{"pequod/restarts"}, p.Labels); diff != "" {
			t.Errorf("labels (-want +got):\n%s", diff)
		}
	})
}

// TestReviewOfAnotherName fails the second review of a job, which must not have the outputs
// of the first.
func TestReviewOfAnotherName(t *testing.T) {
	j := newJob(t, ofPull, inputs()...)
	dir := checkout(t, j, map[string]string{"apps/web.yaml": strings.Replace(webYAML, "1.4.0", "1.5.0", 1)})
	if out, code := j.script(t, dir, "review.sh"); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	j.env = append(j.env, "INPUT_NAME=other", "INPUT_BASE=nope")
	if out, code := j.script(t, dir, "review.sh"); code != 2 || !strings.Contains(out, `no git revision "nope"`) {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if n := strings.Count(j.outputs(t), "verdict="); n != 1 {
		t.Errorf("%d verdicts:\n%s", n, j.outputs(t))
	}
	if comments := j.host.Comments(7); len(comments) != 1 {
		t.Errorf("comments %+v", comments)
	}
}

// withCRDs are settings with committed graphs and CRDs.
const withCRDs = settings + "render:\n  output-dir: graphs\n  prune: true\ncrd generate:\n  platform: [embedded:webservice]\n  output-dir: crds\n"

// commitOutput adds the CRDs and the graphs of the settings withCRDs to the branch main, and returns
// the file of the CRD.
func commitOutput(t *testing.T, j *job, dir string) string {
	t.Helper()
	const script = `set -e
git switch -q main
git checkout -q change -- pequod.yaml
pequod crd generate
pequod render
git add -A
git -c user.name=a -c user.email=a@example.com commit -qm output
git -c user.name=a -c user.email=a@example.com rebase -q main change
`
	if out, code := run(t, dir, j.env, "sh", "-c", script); code != 0 {
		t.Fatal(out)
	}
	crds, err := filepath.Glob(filepath.Join(dir, "crds", "_cluster", "*.yaml"))
	if err != nil || len(crds) != 1 {
		t.Fatalf("%q, %v", crds, err)
	}
	return crds[0]
}

// TestChecks checks committed graphs and CRDs, and that CRDs break nobody.
func TestChecks(t *testing.T) {
	j := newJob(t, ofPull, inputs("INPUT_CHECK=graphs\ncrds\n", "INPUT_CRDS=crds")...)
	dir := checkout(t, j, map[string]string{"pequod.yaml": withCRDs})
	crd := commitOutput(t, j, dir)
	if out, code := j.script(t, dir, "review.sh"); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	good := readFile(t, crd)
	writeFile(t, crd, strings.Replace(good, "maximum: 65535", "maximum: 80", 1), 0o644)
	out, code := j.script(t, dir, "review.sh")
	if code != 1 || !strings.Contains(out, "::error file=crds/") || !strings.Contains(out, "1 file out of date") {
		t.Errorf("a narrower CRD: exit code %d:\n%s", code, out)
	}
	writeFile(t, crd, good, 0o644)
	writeFile(t, filepath.Join(dir, "apps", "web.yaml"), strings.Replace(webYAML, "1.4.0", "1.5.0", 1), 0o644)
	if out, code := j.script(t, dir, "review.sh"); code != 1 || !strings.Contains(out, "1 file out of date") {
		t.Errorf("graphs that are out of date: exit code %d:\n%s", code, out)
	}
	j.env = append(j.env, "INPUT_BASE=origin/none")
	out, code = j.script(t, dir, "review.sh")
	if code != 2 || !strings.Contains(out, "crds: HEAD and origin/none have no common commit in this clone; set fetch-depth: 0 for actions/checkout") {
		t.Errorf("a clone without the base: exit code %d:\n%s", code, out)
	}
	j.env = append(j.env, "INPUT_CHECK=CRDs")
	if out, code := j.script(t, dir, "review.sh"); code != 2 || !strings.Contains(out, "check: CRDs: want graphs or crds") {
		t.Errorf("an unknown check: exit code %d:\n%s", code, out)
	}
}
