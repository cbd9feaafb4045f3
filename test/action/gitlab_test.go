package action

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/test/codehost"
)

const component = "templates/review.yml"

// gitlabJob is the part of the GitLab component that is run.
type gitlabJob struct {
	Variables map[string]string
	Script    []string
	Artifacts struct {
		Reports struct{ Codequality string }
	}
}

var input = regexp.MustCompile(`\$\[\[ *inputs\.([a-z-]+)[^]]*\]\]`)

// readComponent returns the job with the inputs' defaults, apart from those given.
func readComponent(t *testing.T, given map[string]string) gitlabJob {
	t.Helper()
	head, body, ok := strings.Cut(readFile(t, component), "\n---\n")
	if !ok {
		t.Fatalf("%s has no header", component)
	}
	var spec struct {
		Spec struct {
			Inputs map[string]struct{ Description, Default, Regex string }
		}
	}
	var jobs map[string]gitlabJob
	if err := yaml.UnmarshalStrict([]byte(head), &spec); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(body), &jobs); err != nil {
		t.Fatal(err)
	}
	job := jobs["pequod-review"]
	for name := range spec.Spec.Inputs {
		if !strings.Contains(body, "inputs."+name+" ") {
			t.Errorf("input %s isn't used", name)
		}
	}
	for name, value := range job.Variables {
		job.Variables[name] = input.ReplaceAllStringFunc(value, func(expression string) string {
			name := input.FindStringSubmatch(expression)[1]
			declared, ok := spec.Spec.Inputs[name]
			if !ok {
				t.Errorf("there is no input %s", name)
			}
			if v, ok := given[name]; ok {
				return v
			}
			return declared.Default
		})
	}
	for _, s := range job.Script {
		if input.MatchString(s) {
			t.Error("an input stands in the script, where it would be executed")
		}
	}
	return job
}

// TestGitLab runs the job of the component for a merge request.
func TestGitLab(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the job runs in an image of Linux")
	}
	for name, test := range map[string]struct {
		image, port, token, checksum string
		base                         string
		inputs                       map[string]string
		code                         int
		want, note                   string
		problems                     int
		labels                       []string
	}{
		"a change":       {image: "1.5.0", port: "8080", token: "secret", inputs: map[string]string{"label-prefix": "pequod/"}, want: "comment=created", note: "1 to change", labels: []string{"pequod/restarts"}},
		"no token":       {image: "1.5.0", port: "8080", want: "There is no note, because GITLAB_TOKEN is not set."},
		"a condition":    {image: "1.5.0", port: "8080", token: "secret", inputs: map[string]string{"fail-on": "restarts"}, code: 1, want: "comment=created", note: "1 to change"},
		"nothing":        {image: "1.4.0", port: "8080", token: "secret", want: "comment=nothing"},
		"hostile values": {image: "1.4.0", port: "8080", token: "secret", want: "comment=created", note: "3 to add"},
		"stale output":   {image: "1.4.0", port: "8080", token: "secret", inputs: map[string]string{"check": "graphs\ncrds", "crds": "crds"}, code: 1, want: "1 file out of date", note: "1 to change"},
		"no base":        {image: "1.4.0", port: "8080", token: "secret", inputs: map[string]string{"crds": "crds"}, base: "0123456789012345678901234567890123456789", code: 2, want: "set GIT_DEPTH: 0", problems: -1},
		"a problem":      {image: "1.4.0", port: "70000", token: "secret", code: 2, want: "comment=created", note: "70000", problems: 1},
		"wrong checksum": {image: "1.5.0", port: "8080", token: "secret", checksum: strings.Repeat("0", 64), code: 1, want: "FAILED", problems: -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, "{}")
			change := map[string]string{"apps/web.yaml": strings.NewReplacer("1.4.0", test.image, "8080", test.port).Replace(webYAML)}
			if name == "hostile values" {
				change["apps/evil.yaml"] = evilYAML
			}
			if name == "stale output" {
				change["pequod.yaml"] = withCRDs
			}
			dir, base := checkout(t, j, change), "main"
			if name == "stale output" {
				commitOutput(t, j, dir)
				writeFile(t, filepath.Join(dir, "apps", "web.yaml"), strings.Replace(webYAML, "1.4.0", "1.5.0", 1), 0o644)
			}
			if test.base != "" {
				base = test.base
			}
			program := filepath.Join(j.dir, "bin", "pequod")
			data := archive(t, readFile(t, program))
			if err := os.Remove(program); err != nil { // the job installs it
				t.Fatal(err)
			}
			sum := fmt.Sprintf("%x", sha256.Sum256(data))
			if test.checksum != "" {
				sum = test.checksum
			}
			mux := http.NewServeMux()
			mux.HandleFunc("/v0.1.0/checksums.txt", func(w http.ResponseWriter, _ *http.Request) {
				_, _ = fmt.Fprintf(w, "%s  %s\n%s  other.tar.gz\n", sum, archiveName, sum)
			})
			mux.HandleFunc("/v0.1.0/"+archiveName, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) })
			server := httptest.NewServer(mux)
			defer server.Close()
			job := readComponent(t, test.inputs)
			env := []string{
				"PATH=" + os.Getenv("PATH"), "HOME=" + j.dir, "TMPDIR=" + j.dir, "PEQUOD_RELEASES=" + server.URL,
				"GITLAB_CI=true", "CI_API_V4_URL=" + j.host.URL + "/gitlab", "GITLAB_TOKEN=" + test.token, "CI_PIPELINE_ID=5", "CI_PROJECT_ID=" + codehost.Project,
				"CI_MERGE_REQUEST_IID=7", "CI_COMMIT_SHA=abc", "CI_MERGE_REQUEST_DIFF_BASE_SHA=" + base, "CI_JOB_URL=https://gitlab.example.com/-/jobs/1",
			}
			for name, value := range job.Variables {
				env = append(env, name+"="+value)
			}
			out, code := run(t, dir, env, "bash", "-e", "-c", strings.Join(job.Script, "\n"))
			if code != test.code || !strings.Contains(out, test.want) {
				t.Errorf("exit code %d; want %d, %s:\n%s", code, test.code, test.want, out)
			}
			j.host.Change(7, func(p *codehost.Pull) {
				if diff := cmp.Diff(test.labels, p.Labels); diff != "" {
					t.Errorf("labels (-want +got):\n%s", diff)
				}
				if test.note == "" && len(p.Comments) == 0 {
					return
				}
				if len(p.Comments) != 1 || !strings.Contains(p.Comments[0].Body, test.note) {
					t.Errorf("notes %+v; want %q", p.Comments, test.note)
				}
				// GitLab executes lines of notes, also those of other users.
				for line := range strings.Lines(p.Comments[0].Body) {
					for _, command := range []string{"/approve", "@acme", "</details>\\n"} {
						if strings.HasPrefix(strings.TrimSpace(line), command) {
							t.Errorf("the note has the line %s", line)
						}
					}
				}
			})
			if test.problems < 0 {
				return
			}
			var quality []any
			if err := json.Unmarshal([]byte(readFile(t, filepath.Join(dir, job.Artifacts.Reports.Codequality))), &quality); err != nil {
				t.Fatal(err)
			}
			if len(quality) != test.problems {
				t.Errorf("the code quality report has %d problems: %v", len(quality), quality)
			}
		})
	}
}

// TestHooks runs the hooks of pre-commit in a repository, as pre-commit does: the entry
// and its arguments, without the names of files.
func TestHooks(t *testing.T) {
	var hooks []struct {
		ID, Name, Description, Entry, Language, Files string
		Args                                          []string
		PassFilenames                                 *bool `json:"pass_filenames"`
		AlwaysRun                                     bool  `json:"always_run"`
	}
	if err := yaml.UnmarshalStrict([]byte(readFile(t, ".pre-commit-hooks.yaml")), &hooks); err != nil {
		t.Fatal(err)
	}
	args := map[string]string{"pequod-module-vet": " ./shop"}
	const crd = "the CRD"
	broken := map[string][2]string{
		"pequod-validate":           {"apps/web.yaml", strings.Replace(webYAML, "8080", "70000", 1)},
		"pequod-render-check":       {"apps/web.yaml", strings.Replace(webYAML, "1.4.0", "1.5.0", 1)},
		"pequod-module-vet":         {"shop/module.cue", "package shop\n#Input: {\n"},
		"pequod-crd-generate-check": {crd, ""},
		"pequod-crd-check":          {crd, ""},
	}
	if len(hooks) != len(broken) {
		t.Errorf("%d hooks", len(hooks))
	}
	for _, hook := range hooks {
		t.Run(hook.ID, func(t *testing.T) {
			if _, err := regexp.Compile(hook.Files); err != nil || hook.Language != "system" || hook.PassFilenames == nil || *hook.PassFilenames {
				t.Errorf("%+v: %v", hook, err)
			}
			if hook.AlwaysRun != (hook.Files == "") {
				t.Errorf("%+v: want files, or a hook that always runs", hook)
			}
			j := newJob(t, "{}")
			dir := checkout(t, j, map[string]string{"pequod.yaml": withCRDs})
			generated := commitOutput(t, j, dir)
			broken := broken[hook.ID]
			if broken[0] == crd {
				broken = [2]string{strings.TrimPrefix(generated, dir+"/"), strings.Replace(readFile(t, generated), "maximum: 65535", "maximum: 80", 1)}
			}
			command := hook.Entry + args[hook.ID] + " " + strings.Join(hook.Args, " ")
			pequod := func(command string) (string, int) { return run(t, dir, j.env, "sh", "-c", command) }
			if out, code := pequod("pequod render && pequod module init shop"); code != 0 {
				t.Fatalf("%s", out)
			}
			if out, code := pequod(command); code != 0 {
				t.Errorf("exit code %d:\n%s", code, out)
			}
			writeFile(t, filepath.Join(dir, broken[0]), broken[1], 0o644)
			if out, code := pequod(command); code != 1 {
				t.Errorf("exit code %d after %s was changed:\n%s", code, broken[0], out)
			}
		})
	}
}
