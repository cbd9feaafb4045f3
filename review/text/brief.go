package text

import (
	"bufio"
	"io"
	"strings"

	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/review"
	"github.com/pequod-io/pequod/review/forecast"
)

// WriteBrief prints a report for a reader who has named both sides on the command line. It
// lacks the sides and the drawings, and the titles that would only repeat the lines below
// them. The changes of all instances are there whose values differ.
func WriteBrief(w io.Writer, r *review.Report, paint Paint) error {
	b := writer{bufio.NewWriter(w), paint}
	b.title(r.Verdict())
	b.unknown(r.Unknown)
	b.changes(r)
	return b.Flush()
}

// WriteChanges prints a report like [WriteBrief], but without its first line and what is
// unknown. An empty line follows, unless nothing changes.
func WriteChanges(w io.Writer, r *review.Report, paint Paint) error {
	if len(r.Instances) == 0 {
		return nil
	}
	var text strings.Builder
	b := writer{bufio.NewWriter(&text), paint}
	b.changes(r)
	b.printf("\n")
	if err := b.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, strings.TrimPrefix(text.String(), "\n"))
	return err
}

// WriteUnknown prints the parts of a report without an answer, with their reasons.
func WriteUnknown(w io.Writer, r *review.Report, paint Paint) error {
	b := writer{bufio.NewWriter(w), paint}
	b.unknown(r.Unknown)
	return b.Flush()
}

// changes prints the dangers and the groups. The dangers of a single object are next to it.
func (b writer) changes(r *review.Report) {
	if len(r.Instances) == 1 && len(r.Instances[0].Objects) == 1 {
		b.only(r)
		return
	}
	b.dangers(r)
	for _, g := range r.Groups {
		switch {
		case len(g.Instances) == 1 && (len(r.Instances) == 1 || r.Shown(g).Alone()), g.ValuesDiffer && r.Shown(g).Alone():
			b.each(r, g, 0)
		case g.ValuesDiffer:
			b.printf("\n")
			b.title(g.Title)
			b.each(r, g, 2)
		default:
			b.group(r, g)
		}
	}
}

// each prints the objects of every instance of a group: with an indent below the instance, and
// without one as paragraphs of their own.
func (b writer) each(r *review.Report, g review.Group, indent int) {
	for _, i := range g.Instances {
		if indent > 0 {
			b.printf("  %s\n", source.Escape(r.Instances[i].Place(), ""))
		}
		b.objects(r, review.Group{Instances: []int{i}}, indent)
	}
}

// only prints the only object of a report with its dangers.
func (b writer) only(r *review.Report) {
	o := &r.Instances[0].Objects[0]
	b.printf("\n")
	b.line(o.Action.Sign(), true, 0, o.Title())
	for _, d := range r.Dangers {
		b.line('!', false, 2, d.Text())
	}
	for _, c := range o.Mild() {
		if c.Effect != forecast.None || len(r.Dangers) == 0 {
			b.line(' ', false, 2, c.String())
		}
	}
	b.fields(o, 0)
}
