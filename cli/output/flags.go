package output

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
)

// ObjectFlags are the flags of commands that print objects.
type ObjectFlags struct {
	// Output is one of [Formats].
	Output string
	// outputDir replaces stdout if it is set. It takes YAML only.
	outputDir string
	// prune and allowEmpty are passed on to outdir.
	prune, allowEmpty bool
}

// AddFlags registers the flags with cmd.
func (f *ObjectFlags) AddFlags(cmd *cobra.Command) {
	fl := cmd.Flags()
	command.Choice(cmd, &f.Output, "output", "o", "yaml", Formats, "output format: yaml, json or name")
	fl.StringVar(&f.outputDir, "output-dir", "", "write one file per object to this directory instead of printing to stdout")
	fl.BoolVar(&f.prune, "prune", false, "with --output-dir, remove files that an earlier run wrote and this run does not")
	fl.BoolVar(&f.allowEmpty, "allow-empty", false, "with --prune, remove all files if nothing is rendered")
	command.Must(cmd.MarkFlagDirname("output-dir"))
}

// Validate returns an error for values and combinations that make no sense.
func (f *ObjectFlags) Validate() error {
	switch {
	case f.outputDir != "" && f.Output != "yaml":
		return fmt.Errorf("--output-dir only supports yaml, not %s", f.Output)
	case f.prune && f.outputDir == "":
		return fmt.Errorf("--prune requires --output-dir")
	case f.allowEmpty && !f.prune:
		return fmt.Errorf("--allow-empty requires --prune")
	}
	return nil
}
