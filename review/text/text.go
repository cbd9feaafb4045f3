// Package text prints a review for a terminal.
//
// [Write] is the entry point, and [WriteBrief] that for a reader who knows both sides. The verdict comes first, then what is unknown and dangerous,
// and then each group of equal changes with the changes of its first instance. Nothing is
// left out. Control characters of names and values are escaped.
package text

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/review"
)

// Paint colors a line of a report by its sign: '+', '-', '~', '!', or 0 for a title. bold is
// set for the first line of an object and for titles. A nil Paint colors nothing.
type Paint func(sign byte, bold bool, text string) string

// writer prints a report. Errors of the underlying writer are kept by it.
type writer struct {
	*bufio.Writer
	paint Paint
}

// Write prints a report. A nil paint colors nothing. It returns the first error of w.
func Write(w io.Writer, r *review.Report, paint Paint) error {
	b := writer{bufio.NewWriter(w), paint}
	b.title(r.Verdict())
	b.sides(r)
	if text := r.NoChanges(); text != "" {
		b.printf("\n%s\n", text)
	}
	b.unknown(r.Unknown)
	b.dangers(r)
	b.inputs(r.Inputs)
	for _, g := range r.Groups {
		b.group(r, g)
	}
	b.others(r.Live)
	b.neighbourhood(r.Neighbourhood())
	if r.Link != "" {
		b.printf("\n%s\n", r.Link)
	}
	return b.Flush()
}

// printf prints text whose arguments are escaped already.
func (b writer) printf(format string, args ...any) { fmt.Fprintf(b, format, args...) }

// line prints one line with a sign, in its color.
func (b writer) line(sign byte, bold bool, indent int, text string) {
	text = strings.TrimRight(fmt.Sprintf("%c %*s%s", sign, indent, "", source.Escape(review.Clip(text), "\t")), " ")
	if b.paint != nil {
		text = b.paint(sign, bold, text)
	}
	b.printf("%s\n", text)
}

// title prints a heading.
func (b writer) title(text string) {
	text = source.Escape(review.Clip(text), "\t")
	if b.paint != nil {
		text = b.paint(0, true, text)
	}
	b.printf("%s\n", text)
}

// sides names both sides, and counts the instances.
func (b writer) sides(r *review.Report) {
	b.printf("base: %s\nhead: %s\ninstances: %s\n", source.Escape(r.Base.String(), ""), source.Escape(r.Head.String(), ""), r.Counts)
	if r.Live == nil {
		return
	}
	b.printf("live: %s\n", source.Escape(review.Clip(r.Live.String()), ""))
	for _, note := range r.Live.Notes() {
		b.line(' ', false, 4, note)
	}
}

// others lists the objects that only a cluster knows to change.
func (b writer) others(l *review.Live) {
	if l == nil || len(l.Others) == 0 {
		return
	}
	b.printf("\n")
	b.title(l.OthersTitle())
	for i := range l.Others {
		o := &l.Others[i]
		b.object(o, 2, o.Alone())
		for _, w := range o.Warnings {
			b.line('!', false, 4, review.WarningText(w))
		}
	}
}

// unknown lists the parts without an answer, with their reasons.
func (b writer) unknown(all []review.Unknown) {
	if len(all) == 0 {
		return
	}
	b.printf("\n")
	b.title("Unknown:")
	for _, u := range all {
		b.line('!', false, 0, u.Title())
		for _, p := range u.Problems {
			b.line(' ', false, 4, p.String())
		}
		if len(u.Instances) > 1 || len(u.Instances) == 1 && u.Instances[0] != u.Subject {
			b.line(' ', false, 4, source.Count(len(u.Instances), "instance")+": "+strings.Join(u.Instances, ", "))
		}
	}
}

// dangers lists the dangers.
func (b writer) dangers(r *review.Report) {
	if len(r.Dangers) == 0 {
		return
	}
	b.printf("\n")
	b.title("Dangers:")
	for _, d := range r.Dangers {
		b.line('!', false, 0, d.String())
	}
}

// inputs lists the changed modules, policies and settings.
func (b writer) inputs(all []review.Input) {
	if len(all) == 0 {
		return
	}
	b.printf("\n")
	b.title("Inputs:")
	for _, in := range all {
		b.line(in.Action.Sign(), false, 0, in.String())
		for _, note := range in.Breaking {
			b.line('!', false, 4, "breaking: "+note)
		}
		for _, note := range in.Notes {
			b.line(' ', false, 4, note)
		}
	}
}

// group prints the title and the instances of a group, and the changes of the first one.
func (b writer) group(r *review.Report, g review.Group) {
	b.printf("\n")
	b.title(g.Title)
	for k, in := range r.Listed(g) {
		b.printf("  %s\n", source.Escape(in.Place()+in.Where, ""))
		if k == 0 {
			b.documentFields(in.Fields)
		}
	}
	if note := r.Note(g); note != "" {
		b.printf("  %s\n", source.Escape(note, ""))
	}
	b.objects(r, g, 2)
}

// objects prints the objects of the first instance of a group, with their consequences in all
// instances of it.
func (b writer) objects(r *review.Report, g review.Group, indent int) {
	shown, together := r.Shown(g), r.Together(g)
	for i := range shown.Objects {
		if indent == 0 {
			b.printf("\n")
		}
		b.object(&shown.Objects[i], indent, together[i])
	}
}

// documentFields prints the changed fields of a document.
func (b writer) documentFields(all []review.Field) {
	for _, f := range all {
		b.printf("    %s\n", source.Escape(review.Clip(f.String()), ""))
	}
}

// object prints one object: a line, its consequences and its changes.
func (b writer) object(o *review.Object, indent int, consequences []review.Together) {
	b.line(o.Action.Sign(), true, indent, o.Title())
	for _, c := range consequences {
		b.line(' ', false, indent+2, c.String())
	}
	b.fields(o, indent)
}

// fields prints the changes of an object.
func (b writer) fields(o *review.Object, indent int) {
	for _, l := range o.Lines() {
		b.line(l.Sign, false, indent+l.Indent, l.Text)
	}
}
