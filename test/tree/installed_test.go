package tree

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// endToEnd are the directories whose tests run programs as they are installed: with the shipped
// manifests, and with the tokens of their service accounts.
var endToEnd = []string{"cmd", "test/demo", "test/docs"}

// administrators matches the access of a cluster's administrator, which package harness gives tests. The
// address of the API server alone gives none.
var administrators = regexp.MustCompile(`\b(\w+)\.(Config|Kubeconfig)($|[^.\w{(])`)

// TestAdministratorHasReason checks that end-to-end tests give a reason wherever they use the access of the
// administrator: in a comment with that word before the line, or in it.
func TestAdministratorHasReason(t *testing.T) {
	for _, dir := range endToEnd {
		err := filepath.WalkDir(dir, func(file string, entry os.DirEntry, err error) error {
			if err != nil || filepath.Ext(file) != ".go" {
				return err
			}
			text, err := os.ReadFile(file)
			for _, where := range withoutReason(string(text)) {
				t.Errorf("%s: %s: use the access of an account, or give the reason in a comment with the word administrator", file, where)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// withoutReason returns the lines of a Go file that use the administrator's access without a reason.
func withoutReason(text string) []string {
	var lines []string
	reason := false // the comment before the line gives one
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		reason = reason || strings.Contains(line, "administrator")
		if strings.HasPrefix(line, "//") {
			continue
		}
		if m := administrators.FindStringSubmatch(line); m != nil && m[1] != "rest" && m[1] != "tls" && !reason {
			lines = append(lines, line)
		}
		reason = false
	}
	return lines
}
