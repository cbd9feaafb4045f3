package output

import (
	"path/filepath"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/outdir"
	"github.com/pequod-io/pequod/internal/problem"
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
	// Keep reports whether a file of the object may keep another content; see
	// [outdir.File]. It may be nil.
	Keep func(content []byte) bool
}

// Sink collects the objects of a command for their destination: stdout or a
// directory.
type Sink struct {
	flags *ObjectFlags
	owner string
	files []outdir.File
	// sources are the origins of the objects by path.
	sources map[string]problem.Position
}

// NewSink returns a sink for the destination that the flags name. owner names the
// command: several commands may write to one directory, and each prunes only its own
// files.
func (f *ObjectFlags) NewSink(owner string) *Sink {
	return &Sink{flags: f, owner: owner, sources: map[string]problem.Position{}}
}

// Add adds an object. source is its origin, for messages.
func (k *Sink) Add(obj Object, source problem.Position) {
	k.files = append(k.files, outdir.File{Path: obj.Path, Source: source.String(), Data: obj.Data, Private: obj.Private, Keep: obj.Keep})
	k.sources[obj.Path] = source
}

// Commit writes all objects, and prunes the directory if the flags say so. With
// --check it returns a problem for each file that is out of date, and writes
// nothing. Without a directory, a report takes the place of the objects.
func (k *Sink) Commit(env command.Env) (problem.List, error) {
	o := outdir.Options{Prune: k.flags.prune, AllowEmpty: k.flags.allowEmpty}
	switch {
	case k.flags.check:
		stale, err := outdir.Check(k.flags.outputDir, k.owner, k.files, o)
		return k.outOfDate(stale), err
	case k.flags.outputDir != "":
		return nil, outdir.Write(k.flags.outputDir, k.owner, k.files, o)
	case k.flags.ReportFormat() != "text":
		return nil, nil
	}
	objects := make([][]byte, len(k.files))
	for i, f := range k.files {
		objects[i] = f.Data
	}
	return nil, Print(env.Out, k.flags.output, objects)
}

// outOfDate returns the problems of files that are out of date. A missing file has
// no position, so its problem is where its object comes from.
func (k *Sink) outOfDate(stale []outdir.Stale) problem.List {
	var ps problem.List
	for _, s := range stale {
		file := filepath.ToSlash(filepath.Join(k.flags.outputDir, filepath.FromSlash(s.Path)))
		p := problem.Problem{Position: problem.Position{File: file, Line: s.Line}, Rule: problem.RuleStale}
		switch {
		case s.Source == "":
			p.Message = "is not rendered any more"
		case s.Line == 0:
			p.Position = k.sources[s.Path]
			p.Message = file + " is missing"
		default:
			p.Message = "differs from what " + s.Source + " renders"
		}
		ps = append(ps, p)
	}
	return ps
}
