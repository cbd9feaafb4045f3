package distribute

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"

	"github.com/pequod-io/pequod/cli/command"
)

// withoutEffect are the flags of push that don't change the content of a bundle, or that
// its annotations record.
var withoutEffect = []string{
	"allow-dirty", "dry-run", "eval-memory", "eval-timeout", "force", "locked", "offline", "provenance",
	"registry-ca-file", "registry-plain-http", "revision", "source",
}

// TestParameters checks that the provenance of a bundle has every flag that changes its
// content: a new flag of push has to be in one of the lists.
func TestParameters(t *testing.T) {
	cmd := newBundlePushCommand(command.Env{})
	known := slices.Concat(fileParameters, otherParameters, withoutEffect)
	seen := map[string]bool{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		seen[f.Name] = true
		if !slices.Contains(known, f.Name) {
			t.Errorf("--%s: does it change the content of a bundle?", f.Name)
		}
	})
	for _, name := range known {
		if !seen[name] {
			t.Errorf("push has no flag --%s", name)
		}
	}
}
