package tree

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestRecipes checks the recipes of CONTRIBUTING.md: each names all files in which the last thing that was added by it
// has a name, but those that are generated, and no file that doesn't exist.
func TestRecipes(t *testing.T) {
	text, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	generated := []string{":!*_test.go", ":!config", ":!docs/api.md", ":!docs/cmd", ":!docs/pictures", ":!*zz_generated*", ":!cli/*testdata*", ":!test/tofu", ":!CONTRIBUTING.md"}
	names := regexp.MustCompile("`([a-zA-Z][\\w./-]*/[\\w./-]+|[A-Z]+\\.md)`|\\]\\(([\\w./-]+)\\)")
	for _, r := range []struct{ recipe, last, pattern string }{
		{"Add an executor of Actions", "gitlab", "gitlabPipeline|GitLabPipeline|executor/gitlab"},
		{"Add a source of messages", "sqs", "\\b(sqs|SQS)\\b"},
		{"Add a consequence of changes", "", "forecast\\.Unreachable|Unreachable Effect|a Service has no other Pods"},
	} {
		_, recipe, found := strings.Cut(string(text), "### "+r.recipe+"\n")
		if !found {
			t.Errorf("no recipe %q", r.recipe)
			continue
		}
		recipe, _, _ = strings.Cut(recipe, "\n### ")
		var listed []string
		for _, name := range names.FindAllStringSubmatch(recipe, -1) {
			file := strings.ReplaceAll(name[1]+name[2], "NAME", r.last)
			listed = append(listed, file)
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: %v", r.recipe, err)
			}
		}
		out, err := exec.Command("git", append([]string{"grep", "-lE", r.pattern, "--", "."}, generated...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		for file := range strings.SplitSeq(strings.TrimSpace(string(out)), "\n") {
			if !covered(file, listed) {
				t.Errorf("%s: %s isn't named, but has a name of the last one", r.recipe, file)
			}
		}
	}
}

// covered reports whether a file is one of those that are listed, or below one.
func covered(file string, listed []string) bool {
	for _, name := range listed {
		if file == name || strings.HasPrefix(file, name+"/") {
			return true
		}
	}
	return false
}
