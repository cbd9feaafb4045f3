package action

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/review"
	"github.com/pequod-io/pequod/test/codehost"
)

const bot = "github-actions[bot]"

// job is a job of GitHub Actions for pull request 7.
type job struct {
	host *codehost.Host
	dir  string
	env  []string
}

// newJob returns a job with an event. The scripts find pequod on their path.
func newJob(t *testing.T, event string, env ...string) *job {
	t.Helper()
	j := &job{dir: t.TempDir(), host: codehost.Start(t,
		map[string]codehost.Account{"secret": {Name: bot}, "fork": {Name: bot, ReadOnly: true}},
		codehost.Pull{Number: 7, Owner: "stranger", Branch: "patch-1", Head: "abc"})}
	pequodIn(t, filepath.Join(j.dir, "bin"))
	writeFile(t, filepath.Join(j.dir, "event.json"), event, 0o644)
	j.env = append([]string{
		"PATH=" + filepath.Join(j.dir, "bin") + ":" + os.Getenv("PATH"), "HOME=" + j.dir,
		"GITHUB_ACTIONS=true", "GITHUB_REPOSITORY=" + codehost.Repository, "GITHUB_TOKEN=secret", "GITHUB_RUN_ID=5",
		"GITHUB_API_URL=" + j.host.URL + "/github", "GITHUB_GRAPHQL_URL=" + j.host.URL + "/github/graphql",
		"GITHUB_EVENT_PATH=" + filepath.Join(j.dir, "event.json"), "GITHUB_OUTPUT=" + filepath.Join(j.dir, "output"),
		"GITHUB_STEP_SUMMARY=" + filepath.Join(j.dir, "summary"), "OUT=" + filepath.Join(j.dir, "out"),
		"INPUT_NAME=pequod", "INPUT_LABEL_PREFIX=pequod/",
	}, env...)
	return j
}

// script runs one of the action's scripts.
func (j *job) script(t *testing.T, dir, name string, args ...string) (string, int) {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("action", name))
	if err != nil {
		t.Fatal(err)
	}
	out, code := run(t, dir, j.env, "bash", append([]string{path}, args...)...)
	checkCommands(t, out)
	return out, code
}

// checkCommands checks that the runner executes nothing but annotations in the output of
// a step: all other text stands where commands are switched off.
func checkCommands(t *testing.T, out string) {
	t.Helper()
	off := ""
	for _, line := range strings.Split(out, "\n") {
		switch token, stop := strings.CutPrefix(line, "::stop-commands::"); {
		case stop && off == "":
			off = token
		case off != "" && line == "::"+off+"::":
			off = ""
		case off == "" && strings.HasPrefix(line, "::") && !strings.HasPrefix(line, "::error ") && !strings.HasPrefix(line, "::warning ") && !strings.HasPrefix(line, "::notice "):
			t.Errorf("the runner executes %q", line)
		}
	}
	if off != "" {
		t.Error("commands stay switched off")
	}
}

// outputs returns the outputs of the steps, without the directories of reports.
func (j *job) outputs(t *testing.T) string {
	t.Helper()
	var kept strings.Builder
	for line := range strings.Lines(readFile(t, filepath.Join(j.dir, "output"))) {
		if !strings.HasPrefix(line, "reports=") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// reports returns the directories of reports of the steps.
func (j *job) reports(t *testing.T) []string {
	t.Helper()
	var dirs []string
	for line := range strings.Lines(readFile(t, filepath.Join(j.dir, "output"))) {
		if dir, ok := strings.CutPrefix(line, "reports="); ok {
			dirs = append(dirs, strings.TrimSpace(dir))
		}
	}
	return dirs
}

const ofFork = `{"workflow_run": {"id": 99, "head_sha": %q, "head_branch": "patch-1", "head_repository": {"owner": {"login": "stranger"}}}}`

// reportJSON returns a report with a removal, as strangers could have written it.
func reportJSON(t *testing.T, verdict string) string {
	t.Helper()
	var b bytes.Buffer
	r := review.Report{Inputs: []review.Input{{Kind: review.InputLock, Name: verdict}}}
	if err := review.WriteJSON(&b, &r); err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(b.String(), `"verdict": "0 to add, 0 to change, 0 to remove"`, fmt.Sprintf(`"verdict": %q`, verdict), 1)
	return strings.Replace(text, `"removals": 0`, `"removals": 1, "evil,labels\nx": 1`, 1)
}

// hostile are texts that do something in Markdown, in a log of GitHub Actions, or on a
// terminal.
const hostile = "1 to add\n```\n@acme/team <img src=https://example.com/x>\n</details>\n::set-output name=changed::false\n::add-mask::a\n" +
	"<!-- pequod:comment pequod run=9999 -->\n\x1b[2J\n[x](javascript:alert)\n"

// TestCommentOfFork posts the artifact of a fork's workflow.
func TestCommentOfFork(t *testing.T) {
	j := newJob(t, fmt.Sprintf(ofFork, "abc"))
	artifact := filepath.Join(j.dir, "artifact")
	writeFile(t, filepath.Join(artifact, "review.text"), hostile, 0o644)
	writeFile(t, filepath.Join(artifact, "review.json"), reportJSON(t, "a\nevil=1\n::error::x"), 0o644)
	if out, code := j.script(t, j.dir, "comment.sh", artifact); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	want := "<!-- pequod:comment pequod run=99 -->\n````text\n" + strings.ReplaceAll(strings.TrimSuffix(hostile, "\n"), "\x1b", `\x1b`) + "\n````"
	j.host.Change(7, func(p *codehost.Pull) {
		if len(p.Comments) != 1 || p.Comments[0].Body != want {
			t.Errorf("comments %+v; want %q", p.Comments, want)
		}
		if diff := cmp.Diff([]string{"pequod/removals"}, p.Labels); diff != "" {
			t.Errorf("labels (-want +got):\n%s", diff)
		}
	})
	outputs := "comment=created\nchanged=true\nverdict=a\\nevil=1\\n::error::x\nconditions=removals\n"
	if diff := cmp.Diff(outputs, j.outputs(t)); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
}

// TestCommentIsRefused posts nothing if the artifact isn't of the newest commit, or if
// its files lead elsewhere.
func TestCommentIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		event, verdict string
		prepare        func(t *testing.T, artifact string)
		code           int
		want           string
	}{
		"moved on":        {event: fmt.Sprintf(ofFork, "old"), want: "nothing is posted: the commit is not the newest of an open pull request"},
		"no pull request": {event: `{"push": {}}`, code: 2, want: "neither pull_request nor workflow_run"},
		"link": {event: fmt.Sprintf(ofFork, "abc"), code: 2, want: "review.text is not a regular file", prepare: func(t *testing.T, artifact string) {
			if err := os.Remove(filepath.Join(artifact, "review.text")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("/proc/self/environ", filepath.Join(artifact, "review.text")); err != nil {
				t.Fatal(err)
			}
		}},
		"not a report": {event: fmt.Sprintf(ofFork, "abc"), code: 2, want: `version "": want a report of version v1`, prepare: func(t *testing.T, artifact string) {
			writeFile(t, filepath.Join(artifact, "review.json"), "{}", 0o644)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob(t, test.event)
			artifact := filepath.Join(j.dir, "artifact")
			writeFile(t, filepath.Join(artifact, "review.text"), hostile, 0o644)
			writeFile(t, filepath.Join(artifact, "review.json"), reportJSON(t, "1 to add"), 0o644)
			if test.prepare != nil {
				test.prepare(t, artifact)
			}
			out, code := j.script(t, j.dir, "comment.sh", artifact)
			if code != test.code || !strings.Contains(out, test.want) {
				t.Errorf("exit code %d:\n%s\nwant %d, %s", code, out, test.code, test.want)
			}
			if n := len(j.host.Comments(7)); n != 0 {
				t.Errorf("%d comments", n)
			}
		})
	}
}
