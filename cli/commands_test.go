package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli"
)

// TestEveryCommandHasAScript checks that a script runs each command.
func TestEveryCommandHasAScript(t *testing.T) {
	var all strings.Builder
	for _, pattern := range []string{"testdata/script/*.txtar", "clusterscripts/testdata/*.txtar"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range files {
			script, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(script)
		}
	}
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
		run := regexp.MustCompile(`(?m)^(! )?(exec|exits \d) (.* )?` + strings.ReplaceAll(cmd.CommandPath(), " ", ` +`) + `\b`)
		if cmd.Runnable() && !cmd.Hidden && !run.MatchString(all.String()) {
			t.Errorf("no script runs %s", cmd.CommandPath())
		}
	}
	visit(cli.Command())
}
