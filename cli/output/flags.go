package output

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/outdir"
	"github.com/pequod-io/pequod/internal/confine"
)

// reportFormats are further values of -o: the formats in which such a command
// reports problems instead of printing objects; see package report. Its formats text
// and json are missing: problems are text on stderr if objects are printed, and json
// is a format of objects.
var reportFormats = []string{"github", "gitlab", "sarif", "junit"}

// ObjectFlags are the flags of commands that print objects.
type ObjectFlags struct {
	// output is one of [Formats] or of reportFormats.
	output string
	// outputDir replaces stdout if it is set. It takes YAML only.
	outputDir string
	// prune and allowEmpty are passed on to outdir.
	prune, allowEmpty bool
	// check is --check: the directory is compared and not written.
	check bool
}

// AddFlags registers the flags with cmd.
func (f *ObjectFlags) AddFlags(cmd *cobra.Command) {
	fl := cmd.Flags()
	command.Choice(cmd, &f.output, "output", "o", "yaml", slices.Concat(Formats, reportFormats),
		"output format: yaml, json, kyaml or name; or a report of the problems instead of objects: github, gitlab, sarif or junit")
	fl.StringVar(&f.outputDir, "output-dir", "", "write one file per object to this directory instead of printing to stdout")
	fl.BoolVar(&f.prune, "prune", false, "with --output-dir, remove files that an earlier run wrote and this run does not")
	fl.BoolVar(&f.check, "check", false, "with --output-dir, list the files that this command would write or remove, and write nothing")
	fl.BoolVar(&f.allowEmpty, "allow-empty", false, "with --prune, remove all files if nothing is rendered")
	command.Must(cmd.MarkFlagDirname("output-dir"))
}

// Validate returns an error for values and combinations that make no sense.
func (f *ObjectFlags) Validate() error {
	switch {
	case f.outputDir != "" && f.Encoding() != "yaml":
		return fmt.Errorf("--output-dir only supports yaml, not %s", f.output)
	case f.check && f.outputDir == "":
		return fmt.Errorf("--check requires --output-dir")
	case f.prune && f.outputDir == "":
		return fmt.Errorf("--prune requires --output-dir")
	case f.allowEmpty && !f.prune:
		return fmt.Errorf("--allow-empty requires --prune")
	}
	return nil
}

// HasDir reports whether objects are written to a directory.
func (f *ObjectFlags) HasDir() bool { return f.outputDir != "" }

// Room returns what writing the directory needs.
func (f *ObjectFlags) Room() confine.Room {
	if f.outputDir == "" || f.check {
		return confine.Room{}
	}
	return outdir.Room(f.outputDir)
}

// Encoding returns the format of objects, one of [Formats].
func (f *ObjectFlags) Encoding() string {
	if slices.Contains(Formats, f.output) {
		return f.output
	}
	return "yaml"
}

// ReportFormat returns the format in which the command reports its problems on
// stdout. It is "text" if the command prints objects there; problems are then lines
// on stderr.
func (f *ObjectFlags) ReportFormat() string {
	if slices.Contains(Formats, f.output) {
		return "text"
	}
	return f.output
}
