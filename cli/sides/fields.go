package sides

import (
	"bytes"
	"os"
	"path/filepath"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
	"github.com/pequod-io/pequod/review"
)

// AddFields fills in the changed fields of the documents of a report's instances. base and
// head must have their files still. An instance whose file can't be read any more has no
// fields, and keeps the position of its document.
func AddFields(r *review.Report, base, head *Side) {
	was, is := newDocuments(base), newDocuments(head)
	for i := range r.Instances {
		in := &r.Instances[i]
		if in.Base == nil || in.Head == nil {
			continue
		}
		before, after := was.read(in.Base), is.read(in.Head)
		if before == nil || after == nil || bytes.Equal(before.data, after.data) && in.Base.At.Line == in.Head.At.Line && in.Base.At.Column == in.Head.At.Column {
			continue // the file doesn't change, but the module, a policy or a setting
		}
		old, ok := before.document(in.Base)
		if !ok {
			continue
		}
		if doc, ok := after.document(in.Head); ok {
			in.Fields = fields(old, doc, in.Head.Path)
		}
	}
}

// fields returns the fields in which two documents differ. path is that of the second one in
// the repository.
func fields(was, is yamlfile.Document, path string) []review.Field {
	var all []review.Field
	for _, d := range yamlfile.Compare(was, is) {
		f := review.Field{Path: d.Path, Action: objectdiff.Modify, At: review.Place{Position: d.Is, Path: path}}
		switch {
		case d.Was.File == "":
			f.Action = objectdiff.Add
		case d.Is.File == "":
			f.Action, f.At = objectdiff.Remove, review.Place{Position: d.Was}
		}
		all = append(all, f)
	}
	return all
}

// documents reads the files of a side, each of them once.
type documents struct {
	side  *Side
	files map[string]*documentFile // nil values for files that can't be read
}

// documentFile is a file with its documents, which are parsed when the first one is needed.
type documentFile struct {
	name string
	data []byte
	docs map[place]yamlfile.Document
}

func newDocuments(s *Side) documents { return documents{s, map[string]*documentFile{}} }

// read returns the file of a unit, or nil if it can't be read.
func (d documents) read(u *review.Unit) *documentFile {
	f, ok := d.files[u.Path]
	if !ok {
		if data, err := os.ReadFile(filepath.Join(d.side.Checkout.Dir(), filepath.FromSlash(u.Path))); err == nil {
			f = &documentFile{name: u.At.File, data: data}
		}
		d.files[u.Path] = f
	}
	return f
}

// document returns the document of a unit. A graph that is committed output has that of
// another kind.
func (f *documentFile) document(u *review.Unit) (yamlfile.Document, bool) {
	if f.docs == nil {
		f.docs = map[place]yamlfile.Document{}
		for doc, ps := range yamlfile.Objects(f.name, f.data) {
			if len(ps) > 0 {
				break
			}
			at := doc.Start()
			f.docs[place{line: at.Line, column: at.Column}] = doc
		}
	}
	doc, ok := f.docs[place{line: u.At.Line, column: u.At.Column}]
	return doc, ok && doc.Text("kind") == u.Kind
}
