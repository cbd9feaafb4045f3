package output

import (
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/outdir"
)

// Object is one encoded object.
type Object struct {
	// Data is the encoded object, with a final newline.
	Data []byte
	// Path is the file of the object below --output-dir; see [outdir.Path].
	Path string
	// Key names the object in messages and for -o name. Two objects with the
	// same key are duplicates.
	Key string
}

// Sink is the destination of a command's objects: stdout or a directory. Exactly
// one of printer and stage is set.
type Sink struct {
	flags   *ObjectFlags
	printer *Printer
	stage   *outdir.Stage // nil after Commit
}

// OpenSink opens the destination that the flags name. owner names the command:
// several commands may write to one directory, and each prunes only its own files.
// The caller must call Abort at the end, also after Commit.
func (f *ObjectFlags) OpenSink(owner string) (*Sink, error) {
	if f.outputDir == "" {
		return &Sink{flags: f, printer: NewPrinter(f.Output)}, nil
	}
	stage, err := outdir.Open(f.outputDir, owner)
	if err != nil {
		return nil, err
	}
	return &Sink{flags: f, stage: stage}, nil
}

// Add adds an object. source names the origin of the object in the error that two
// objects have the same path.
func (k *Sink) Add(obj Object, source string) error {
	if k.stage != nil {
		return k.stage.Add(obj.Path, source, obj.Data)
	}
	return k.printer.Print(obj.Data)
}

// Commit writes all objects, and prunes the directory if the flags say so.
func (k *Sink) Commit(env command.Env) error {
	if k.stage == nil {
		return k.printer.Flush(env.Out)
	}
	_, err := k.stage.Commit(outdir.Options{Prune: k.flags.prune, AllowEmpty: k.flags.allowEmpty})
	k.stage = nil
	return err
}

// Abort discards a sink that was not committed. After Commit it only removes
// temporary files. Its own errors are dropped: the next run removes temporary
// files that are left, and the error that led here is the one to report.
func (k *Sink) Abort() {
	if k.stage != nil {
		_ = k.stage.Abort()
	}
	if k.printer != nil {
		_ = k.printer.Close()
	}
}
