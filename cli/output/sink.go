package output

import (
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/outdir"
)

// sink takes objects and shows them all at once, or none.
type sink struct {
	flags   *ObjectFlags
	printer *Printer
	stage   *outdir.Stage
}

// openFor begins the output of a command; the owner tells files in a directory
// that several commands write to apart.
func (f *ObjectFlags) OpenSink(owner string) (*sink, error) {
	if f.outputDir == "" {
		return &sink{flags: f, printer: NewPrinter(f.Output)}, nil
	}
	stage, err := outdir.Open(f.outputDir, owner)
	if err != nil {
		return nil, err
	}
	return &sink{flags: f, stage: stage}, nil
}

func (k *sink) Add(obj Object, source string) error {
	if k.stage != nil {
		return k.stage.Add(obj.Path, source, obj.Data)
	}
	return k.printer.Print(obj.Data)
}

func (k *sink) Commit(env command.Env) error {
	if k.stage == nil {
		return k.printer.Flush(env.Out)
	}
	_, err := k.stage.Commit(outdir.Options{Prune: k.flags.prune, AllowEmpty: k.flags.allowEmpty})
	k.stage = nil
	return err
}

// abort ends a sink that was not committed; after commit it only cleans up.
func (k *sink) Abort() {
	// What it can't remove is a temporary file of ours that the next run
	// removes; the error that led here says more.
	if k.stage != nil {
		_ = k.stage.Abort()
	}
	if k.printer != nil {
		_ = k.printer.Close()
	}
}

// outputObject is one object, encoded, with the names that its file gets.
type Object struct {
	Data []byte
	Path string
	Key  string
}
