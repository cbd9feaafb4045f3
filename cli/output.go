package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/outdir"
)

// outputFlags are those of commands that print objects.
type outputFlags struct {
	output     string
	outputDir  string
	prune      bool
	allowEmpty bool
}

func (f *outputFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVarP(&f.output, "output", "o", "yaml", "output format: yaml, json or name")
	fl.StringVar(&f.outputDir, "output-dir", "", "write one file per object into this directory instead of to stdout")
	fl.BoolVar(&f.prune, "prune", false, "with --output-dir, remove files that an earlier run wrote and this one doesn't")
	fl.BoolVar(&f.allowEmpty, "allow-empty", false, "with --prune, remove everything if nothing is rendered")
	must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(objectFormats, cobra.ShellCompDirectiveNoFileComp)))
	must(cmd.MarkFlagDirname("output-dir"))
}

func (f *outputFlags) validate() error {
	if err := oneOf("--output", f.output, objectFormats); err != nil {
		return err
	}
	switch {
	case f.outputDir != "" && f.output != "yaml":
		return fmt.Errorf("--output-dir writes yaml, not %s", f.output)
	case f.prune && f.outputDir == "":
		return fmt.Errorf("--prune goes with --output-dir")
	case f.allowEmpty && !f.prune:
		return fmt.Errorf("--allow-empty goes with --prune")
	}
	return nil
}

// sink takes objects and shows them all at once, or none.
type sink struct {
	flags   *outputFlags
	printer *objectPrinter
	stage   *outdir.Stage
}

// openFor begins the output of a command; the owner tells files in a directory
// that several commands write to apart.
func (f *outputFlags) openFor(owner string) (*sink, error) {
	if f.outputDir == "" {
		return &sink{flags: f, printer: newObjectPrinter(f.output)}, nil
	}
	stage, err := outdir.Open(f.outputDir, owner)
	if err != nil {
		return nil, err
	}
	return &sink{flags: f, stage: stage}, nil
}

func (k *sink) add(obj outputObject, source string) error {
	if k.stage != nil {
		return k.stage.Add(obj.path, source, obj.data)
	}
	return k.printer.print(obj.data)
}

func (k *sink) commit(s streams) error {
	if k.stage == nil {
		return k.printer.flush(s.out)
	}
	_, err := k.stage.Commit(outdir.Options{Prune: k.flags.prune, AllowEmpty: k.flags.allowEmpty})
	k.stage = nil
	return err
}

// abort ends a sink that was not committed; after commit it only cleans up.
func (k *sink) abort() {
	// What it can't remove is a temporary file of ours that the next run
	// removes; the error that led here says more.
	if k.stage != nil {
		_ = k.stage.Abort()
	}
	if k.printer != nil {
		_ = k.printer.close()
	}
}

// colored says whether text on w may be coloured: on a terminal without NO_COLOR.
func colored(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && info.Mode()&os.ModeDevice != 0
}
