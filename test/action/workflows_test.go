package action

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/test/docsession"
)

const ciDoc = "docs/ci.md"

// listings returns the files that a document shows, by their names.
func listings(t *testing.T, doc string) map[string]string {
	t.Helper()
	blocks, err := docsession.Parse(readFile(t, doc))
	if err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	files := map[string]string{}
	for _, b := range blocks {
		if b.File != "" {
			files[b.File] = strings.Join(b.Lines, "\n") + "\n"
		}
	}
	return files
}

// actions returns the files of the actions of this repository.
func actions(t *testing.T) []string {
	t.Helper()
	below, err := filepath.Glob("action/*/action.yml")
	if err != nil || len(below) == 0 {
		t.Fatal(err, below)
	}
	if _, err := os.Stat("action.yml"); err == nil {
		below = append(below, "action.yml")
	}
	return below
}

var ownAction = regexp.MustCompile(`uses: pequod-io/pequod(/[a-z/]+)?@v[0-9.]+`)

// TestWorkflows runs actionlint on the workflows of this repository and on those that the
// documentation shows. The latter use the actions of the checkout, so that unknown inputs
// and outputs are found.
func TestWorkflows(t *testing.T) {
	find := exec.Command("go", "tool", "-n", "actionlint")
	find.Dir, find.Stderr = "test/action/tool", os.Stderr
	out, err := find.Output()
	if err != nil {
		t.Fatalf("building actionlint: %v", err)
	}
	actionlint := strings.TrimSpace(string(out))
	ours, err := filepath.Glob(".github/workflows/*")
	if err != nil || len(ours) == 0 {
		t.Fatal(err, ours)
	}
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, ".git", "HEAD"), "", 0o644) // what actionlint takes for the root of a project
	for _, file := range append(actions(t), ours...) {
		writeFile(t, filepath.Join(dir, file), readFile(t, file), 0o644)
	}
	used := 0
	for _, doc := range []string{ciDoc, "docs/gitops.md"} {
		for file, text := range listings(t, doc) {
			if strings.HasPrefix(file, ".github/workflows/") {
				used += len(ownAction.FindAllString(text, -1))
				text = ownAction.ReplaceAllString(text, "uses: .$1/")
				writeFile(t, filepath.Join(dir, filepath.Dir(file), "doc-"+filepath.Base(file)), text, 0o644)
			}
		}
	}
	if used < 4 {
		t.Errorf("the documents use the actions %d times", used)
	}
	if out, code := run(t, dir, os.Environ(), actionlint, "-no-color"); code != 0 {
		t.Errorf("%s", out)
	}
}

// action is the part of an action's file that is checked.
type action struct {
	Name, Description string
	Inputs            map[string]struct {
		Description string
		Default     *string
		Required    bool
	}
	Outputs map[string]struct{ Description, Value string }
	Runs    struct {
		Using string
		Steps []struct {
			ID, Name, Shell, Run string
			Env                  map[string]string
		}
	}
}

// TestActions checks what actionlint leaves out: no expression stands in a script, where
// its value would be executed, and every input is used.
func TestActions(t *testing.T) {
	for _, file := range actions(t) {
		var a action
		text := readFile(t, file)
		if err := yaml.Unmarshal([]byte(text), &a); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if a.Runs.Using != "composite" || len(a.Runs.Steps) == 0 || a.Description == "" {
			t.Errorf("%s: %+v", file, a)
		}
		for _, s := range a.Runs.Steps {
			if s.Shell != "bash" || strings.Contains(s.Run, "${{") {
				t.Errorf("%s: step %s: shell %s, script %s", file, s.Name, s.Shell, s.Run)
			}
			for _, script := range regexp.MustCompile(`GITHUB_ACTION_PATH/([a-z./]+\.sh)`).FindAllStringSubmatch(s.Run, -1) {
				info, err := os.Stat(filepath.Join(filepath.Dir(file), script[1]))
				if err != nil || info.Mode()&0o111 == 0 {
					t.Errorf("%s: step %s: %s can't be run", file, s.Name, script[1])
				}
			}
		}
		for name, input := range a.Inputs {
			if input.Description == "" || !input.Required && input.Default == nil || !strings.Contains(text, "${{ inputs."+name+" }}") {
				t.Errorf("%s: input %s has no description or default, or isn't used", file, name)
			}
		}
	}
}

// TestForkedWorkflow checks that the workflow that reads the files of strangers has no
// right to write, and that the one with rights checks out nothing.
func TestForkedWorkflow(t *testing.T) {
	files := listings(t, ciDoc)
	reads, writes := files[".github/workflows/pequod-review.yaml"], files[".github/workflows/pequod-comment.yaml"]
	if strings.Contains(reads, "write") || strings.Contains(reads, "pull_request_target") {
		t.Error("the workflow that reads files of strangers may write")
	}
	if strings.Contains(writes, "checkout") || regexp.MustCompile(`(?m)^[ -]*run:`).MatchString(writes) {
		t.Error("the workflow with rights checks out files or has a script")
	}
	if !strings.Contains(reads, "name: pequod review\n") || !strings.Contains(writes, "workflows: [pequod review]") {
		t.Error("the second workflow doesn't follow the first")
	}
	for _, artifact := range []string{reads, writes} {
		if !slices.Contains(strings.Fields(artifact), "pequod-review") {
			t.Error("the workflows name different artifacts")
		}
	}
}
