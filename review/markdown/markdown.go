// Package markdown prints a review as a comment on a pull request, in the dialect that
// GitHub, GitLab and Gitea share.
//
// [Write] is the entry point. A comment has a limited size, so the changes of each object
// are folded, and the longest ones are shortened first (fit.go). What is left out is
// counted, and its names stay as long as they fit. Names and values come from files that a
// stranger may have written: escape.go keeps them from being markup, mentions or HTML.
package markdown

import (
	"fmt"
	"io"
	"strings"

	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/review"
)

// Write prints a report with at most size characters. A size of 0 means no limit.
func Write(w io.Writer, r *review.Report, size int) error {
	_, err := io.WriteString(w, fit(size, func(c cut) string { return write(r, c) }))
	return err
}

// writer writes a comment and counts what the cut leaves out.
type writer struct {
	strings.Builder
	cut
	lines, groups, names int // left out
}

// write returns the whole comment.
func write(r *review.Report, c cut) string {
	b := &writer{cut: c}
	fmt.Fprintf(b, "**%s**\n\n%s → %s\n", escape(r.Verdict()), escape(r.Base.String()), escape(r.Head.String()))
	if !r.Base.AsIs {
		fmt.Fprintf(b, "\nInstances: %s\n", r.Counts)
	}
	b.live(r.Live)
	if text := r.NoChanges(); text != "" {
		fmt.Fprintf(b, "\n%s\n", text)
	}
	b.unknown(r.Unknown)
	b.dangers(r)
	b.inputs(r.Inputs)
	b.titles(r)
	b.drawings(r.Neighbourhood())
	for i, g := range r.Groups {
		if i >= b.cut.groups {
			b.groups++
			continue
		}
		b.group(r, i, g)
	}
	b.others(r.Live)
	b.leftOut(r.Link)
	return b.String()
}

// list writes items under a heading, each after a dash, and counts those that are cut.
func (b *writer) list(heading string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", heading)
	for i, item := range items {
		if i >= b.cut.names {
			b.names += len(items) - i
			fmt.Fprintf(b, "> - … %d more\n", len(items)-i)
			return
		}
		fmt.Fprintf(b, "> - %s\n", item)
	}
}

// unknown writes the parts without an answer, with their reasons.
func (b *writer) unknown(all []review.Unknown) {
	var items []string
	for _, u := range all {
		text := "**" + escape(u.Title()) + "**"
		for _, p := range u.Problems {
			text += "<br>" + code(p.String())
		}
		if len(u.Instances) > 1 || len(u.Instances) == 1 && u.Instances[0] != u.Subject {
			text += "<br>" + source.Count(len(u.Instances), "instance") + ": " + names(u.Instances)
		}
		items = append(items, text)
	}
	b.list("> [!CAUTION]\n> Not everything is known:", items)
}

// maxListed is the largest number of names on one line.
const maxListed = 10

// names returns names on one line. It counts those above a limit; the JSON has them all.
func names(all []string) string {
	var parts []string
	for i, n := range all {
		if i == maxListed {
			parts = append(parts, fmt.Sprintf("… %d more", len(all)-i))
			break
		}
		parts = append(parts, code(n))
	}
	return strings.Join(parts, ", ")
}

// dangers writes the dangers as an alert.
func (b *writer) dangers(r *review.Report) {
	var items []string
	for _, d := range r.Dangers {
		text := code(d.Subject()) + ": "
		if d.Path != "" {
			text += code(d.Path) + ": "
		}
		text += escape(d.Message)
		if d.Others > 0 {
			text += fmt.Sprintf(" (and in %s)", source.Count(d.Others, "other instance"))
		}
		items = append(items, text)
	}
	b.list("> [!WARNING]\n> Dangers:", items)
}

// inputs writes the changed modules, policies and settings.
func (b *writer) inputs(all []review.Input) {
	if len(all) == 0 {
		return
	}
	b.WriteString("\n### Inputs\n\n")
	for i, in := range all {
		if i >= b.cut.names {
			b.names += len(all) - i
			fmt.Fprintf(b, "- … %d more\n", len(all)-i)
			return
		}
		fmt.Fprintf(b, "- %s\n", escape(in.String()))
		for _, note := range in.Breaking {
			fmt.Fprintf(b, "  - **breaking**: %s\n", escape(note))
		}
		for _, note := range in.Notes {
			fmt.Fprintf(b, "  - %s\n", escape(note))
		}
	}
}

// titles writes the list of all groups with their strongest consequences. It names what the rest
// may leave out. A single group has its title at its details.
func (b *writer) titles(r *review.Report) {
	if len(r.Groups) == 0 || len(r.Groups) == 1 && b.cut.groups > 0 {
		return
	}
	b.WriteString("\n### Changes\n\n")
	for i, g := range r.Groups {
		if i >= b.cut.names {
			b.names += len(r.Groups) - i
			fmt.Fprintf(b, "- … %d more\n", len(r.Groups)-i)
			return
		}
		item := escape(g.Title)
		if worst := r.Strongest(g); worst != "" {
			item += ": **" + escape(worst) + "**"
		}
		fmt.Fprintf(b, "- %s\n", item)
	}
}

// leftOut writes a sentence about the parts that were left out.
func (b *writer) leftOut(link string) {
	var parts []string
	for _, p := range []struct {
		n    int
		noun string
	}{{b.lines, "line"}, {b.groups, "change"}, {b.names, "name"}} {
		if p.n > 0 {
			parts = append(parts, source.Count(p.n, p.noun))
		}
	}
	switch {
	case parts != nil && link != "":
		fmt.Fprintf(b, "\n_Too long for a comment: %s left out. The whole report: %s_\n", strings.Join(parts, " and "), linkTo(link))
	case parts != nil:
		fmt.Fprintf(b, "\n_Too long for a comment: %s left out._\n", strings.Join(parts, " and "))
	case link != "":
		fmt.Fprintf(b, "\nThe whole report: %s\n", linkTo(link))
	}
}
