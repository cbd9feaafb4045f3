package tree

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// startsGit matches a command that starts git, also with arguments over several lines.
var startsGit = regexp.MustCompile(`exec\.Command(Context)?\(\s*(\w+,\s*)?"git"`)

// TestGitHasOneDoor checks that the product starts git in one function only, which keeps repositories of strangers
// from running programs.
func TestGitHasOneDoor(t *testing.T) {
	var found []string
	err := filepath.WalkDir(".", func(file string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case file == "test" || entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && file != ".":
			return filepath.SkipDir
		case filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(file)
		for range startsGit.FindAll(text, -1) {
			found = append(found, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || found[0] != "internal/gitfs/command.go" {
		t.Errorf("git is started in %v; use package gitfs", found)
	}
}
