package html

import (
	"bytes"
	"fmt"
	"html/template"
	"io"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/review"
	"github.com/pequod-io/pequod/review/forecast"
)

// Style returns the style sheet of a page that contains [WriteChanges].
func Style() string { return style }

// changesTemplate is the list of the entries of a difference.
const changesTemplate = `{{define "changes"}}{{range .}}{{template "entry" .}}{{else}}<p class="soft">Nothing would change.</p>{{end}}{{end}}`

// WriteChanges writes the changed objects of a difference as part of a page, each folded,
// as a report shows them. It writes in one piece.
func WriteChanges(w io.Writer, d objectdiff.Diff, consequences map[objectdiff.Key][]forecast.Consequence) error {
	t, err := parse()
	if err != nil {
		return err
	}
	if t, err = t.Parse(changesTemplate); err != nil {
		return err
	}
	var entries []entry
	for i, o := range d.Objects {
		entries = append(entries, Options{}.entry(&review.Object{ObjectDiff: o, Consequences: consequences[o.Key]}, fmt.Sprintf("o%d", i+1)))
	}
	return write(w, t, entries)
}

// write executes the template "changes".
func write(w io.Writer, t *template.Template, entries []entry) error {
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, "changes", entries); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}
