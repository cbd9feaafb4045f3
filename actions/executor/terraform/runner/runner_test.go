package runner

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSummarize counts and lists the changes of a plan, and nothing of their values.
func TestSummarize(t *testing.T) {
	t.Parallel()
	var s shown
	err := json.Unmarshal([]byte(`{"resource_changes": [
		{"address": "a.create", "change": {"actions": ["create"], "after": {"password": "secret"}}},
		{"address": "a.update", "change": {"actions": ["update"]}},
		{"address": "a.replace", "change": {"actions": ["delete", "create"]}},
		{"address": "a.replace_first", "change": {"actions": ["create", "delete"]}},
		{"address": "a.delete", "change": {"actions": ["delete"]}},
		{"address": "a.forget", "change": {"actions": ["forget"]}},
		{"address": "a.same", "change": {"actions": ["no-op"]}},
		{"address": "data.a.read", "change": {"actions": ["read"]}}
	], "output_changes": {"b": {"actions": ["update"]}, "a": {"actions": ["create"]}, "c": {"actions": ["no-op"]}}}`), &s)
	if err != nil {
		t.Fatal(err)
	}
	changes, summary := s.summarize()
	if want := (Changes{Create: 3, Update: 1, Delete: 4, Outputs: 2}); changes != want || want.Total() != 10 {
		t.Errorf("changes: %+v", changes)
	}
	want := "3 to create, 1 to update, 4 to delete: + a.create, ~ a.update, -/+ a.replace, +/- a.replace_first, - a.delete, . a.forget, + output.a, ~ output.b"
	if summary != want {
		t.Errorf("summary: %s", summary)
	}
	for range 500 {
		s.Resources = append(s.Resources, s.Resources[0])
	}
	if _, summary := s.summarize(); len(summary) > maxSummary || !strings.HasPrefix(summary, "503 to create, ") {
		t.Errorf("%d bytes: %.40s", len(summary), summary)
	}
}

// tool writes a shell script as the program tofu, and returns a program that runs it.
func tool(t *testing.T, script string) *program {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tofu"), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return &program{dir: dir, log: io.Discard, hidden: []string{"hunter2"}}
}

// TestDiagnostics reads the lines of tofu: the error has the place, and no values of Secrets.
func TestDiagnostics(t *testing.T) {
	p := tool(t, `echo 'Warning: not JSON'
echo '{"@message":"Error: a","diagnostic":{"severity":"error","summary":"Invalid expression","detail":"Not hunter2 nor password=abcdef.","range":{"filename":"main.tf","start":{"line":3,"column":7}}}}'
echo '{"@message":"Warning: b","diagnostic":{"severity":"warning","summary":"Old"}}'
printf '{"@message":"Error: c","diagnostic":{"severity":"error","summary":"More"}}'
exit 1
`)
	code, found, err := p.run(t.Context(), "init")
	if code != 1 || err != nil || len(found) != 3 {
		t.Fatalf("%d %v %v", code, found, err)
	}
	want := "main.tf:3:7: Invalid expression: Not [redacted] nor password=[redacted] (and 1 more)"
	if got := p.failed("init", errorsOf(found), true).Error(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestNoDiagnostics has the words of a program that fails in another way, and one that isn't there. The log has
// them, too, without values of Secrets.
func TestNoDiagnostics(t *testing.T) {
	p := tool(t, "echo 'no space left for hunter2' >&2; exit 1")
	var log strings.Builder
	p.log = &log
	_, found, err := p.run(t.Context(), "plan")
	if err != nil {
		t.Fatal(err)
	}
	if got := p.failed("plan", errorsOf(found), false).Error(); got != "tofu plan failed: no space left for [redacted]" {
		t.Error(got)
	}
	if err := p.read(t.Context(), &map[string]any{}, "output", "-json"); err == nil || err.Error() != "tofu output ended with exit code 1: no space left for [redacted]" {
		t.Error(err)
	}
	if want := "no space left for [redacted]\nno space left for [redacted]\n"; log.String() != want {
		t.Errorf("log: %q", log.String())
	}
	t.Setenv("PATH", t.TempDir())
	if _, _, err := p.run(t.Context(), "plan"); err == nil || err.Error() != "the image has no program tofu in its PATH" {
		t.Error(err)
	}
}

// TestOutputs takes outputs that are sensitive, and those with a value of a Secret, from the others.
func TestOutputs(t *testing.T) {
	p := tool(t, `cat <<'EOF'
Warning: Unable to open CLI configuration file

{"size": {"value": 3}, "marked": {"value": "a", "sensitive": true}, "list": {"value": [{"a": "has hunter2"}]}, "name": {"value": {"hunter2": null}}}
EOF
`)
	var r Result
	if err := p.outputs(t.Context(), &r); err != nil {
		t.Fatal(err)
	}
	text := func(all map[string]json.RawMessage) map[string]string {
		got := map[string]string{}
		for name, value := range all {
			got[name] = string(value)
		}
		return got
	}
	if diff := cmp.Diff(map[string]string{"size": "3"}, text(r.Outputs)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"marked": `"a"`, "list": `[{"a": "has hunter2"}]`, "name": `{"hunter2": null}`}, text(r.Sensitive)); diff != "" {
		t.Error(diff)
	}
}

// TestStateSuffix returns values of labels that differ.
func TestStateSuffix(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a.", 40)
	a, b := StateSuffix(long+"b"), StateSuffix(long+"c")
	if StateSuffix("db") != "pequod-db" || a == b || len(a) > maxSuffix || strings.Contains(a, ".-") {
		t.Errorf("%s %s", a, b)
	}
}

// TestWrite refuses files outside of the directory.
func TestWrite(t *testing.T) {
	t.Parallel()
	r := &runner{program: program{dir: filepath.Join(t.TempDir(), "work")}, suffix: "pequod-db", namespace: "shop"}
	if err := r.write(Input{Files: map[string]string{"../main.tf": ""}}); err == nil {
		t.Error("a file outside of the directory was written")
	}
	if err := r.write(Input{Files: map[string]string{"modules/a/main.tf": "a"}, Vars: json.RawMessage(`{"size":1}`)}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"modules/a/main.tf": "a", varsFile: `{"size":1}`,
		backendFile: `{"terraform":{"backend":{"kubernetes":{"namespace":"shop","secret_suffix":"pequod-db"}}}}`,
	} {
		if got, err := os.ReadFile(filepath.Join(r.dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}
