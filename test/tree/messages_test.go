package tree

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// rewriters are the files that tell errors of git, registries, API servers and their networks in
// words of our own, each with the test that has a row for every message. What remains of an error
// must be the other side's words and a next step; see package messages.
var rewriters = map[string]string{
	"applier/cluster/distant.go": "applier/cluster/distant_test.go",
	"applier/cluster/errors.go":  "test/messages/kubernetes_test.go",
	"cli/kube/errors.go":         "test/messages/kubernetes_test.go",
	"internal/gitfs/command.go":  "internal/gitfs/messages_test.go",
	"modules/git/error.go":       "modules/git/messages_test.go",
	"modules/oci/error.go":       "modules/oci/messages_test.go",
	"modules/oci/retry.go":       "modules/oci/messages_test.go",
	"operator/source/fetch.go":   "operator/source/refused_test.go",
}

// foreign matches what recognizes an error in order to tell it in other words.
var foreign = regexp.MustCompile(`\*url\.Error\b|\*net\.DNSError\b|\*transport\.Error\b|\*githttp\.Err\b|\*tls\.CertificateVerificationError\b|` +
	`clientcmd\.IsEmptyConfig|answered %s|fatal: `)

// TestRewriters checks that every file that rewrites errors of others is listed.
func TestRewriters(t *testing.T) {
	found := map[string]bool{}
	for _, root := range []string{"applier", "cli", "internal", "inventory", "modules", "operator", "render", "review"} {
		err := filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			text, err := os.ReadFile(name)
			if err != nil || !foreign.Match(text) {
				return err
			}
			name = filepath.ToSlash(name)
			if found[name] = true; rewriters[name] == "" {
				t.Errorf("%s rewrites errors of others (%s): add rows to a test with package messages, and the file to rewriters", name, foreign.Find(text))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range rewriters {
		if !found[name] {
			t.Errorf("%s is listed, but rewrites no errors of others", name)
		}
		if _, err := os.Stat(test); err != nil {
			t.Error(err)
		}
	}
}
