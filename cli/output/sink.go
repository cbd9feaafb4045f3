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
	// Private is set if the object has values of Secrets. Its file can be read by its
	// owner only.
	Private bool
	// Key names the object in messages and for -o name. Two objects with the
	// same key are duplicates.
	Key string
}

// Sink collects the objects of a command for their destination: stdout or a
// directory.
type Sink struct {
	flags *ObjectFlags
	owner string
	files []outdir.File
}

// NewSink returns a sink for the destination that the flags name. owner names the
// command: several commands may write to one directory, and each prunes only its own
// files.
func (f *ObjectFlags) NewSink(owner string) *Sink { return &Sink{flags: f, owner: owner} }

// Add adds an object. source names the origin of the object in the error that two
// objects have the same path.
func (k *Sink) Add(obj Object, source string) {
	k.files = append(k.files, outdir.File{Path: obj.Path, Source: source, Data: obj.Data, Private: obj.Private})
}

// Commit writes all objects, and prunes the directory if the flags say so.
func (k *Sink) Commit(env command.Env) error {
	if k.flags.outputDir != "" {
		return outdir.Write(k.flags.outputDir, k.owner, k.files, outdir.Options{Prune: k.flags.prune, AllowEmpty: k.flags.allowEmpty})
	}
	objects := make([][]byte, len(k.files))
	for i, f := range k.files {
		objects[i] = f.Data
	}
	return Print(env.Out, k.flags.Output, objects)
}
