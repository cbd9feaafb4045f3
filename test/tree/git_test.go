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
	eachFile(t, func(file string) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for range startsGit.FindAll(text, -1) {
			found = append(found, file)
		}
	})
	if len(found) != 1 || found[0] != "internal/gitfs/command.go" {
		t.Errorf("git is started in %v; use package gitfs", found)
	}
}

// eachFile calls a function with every Go file of the product.
func eachFile(t *testing.T, do func(file string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(file string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case file == "test" || entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && file != ".":
			return filepath.SkipDir
		case filepath.Ext(file) == ".go" && !strings.HasSuffix(file, "_test.go"):
			do(file)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
