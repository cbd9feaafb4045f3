package review

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
)

// The methods of this file return the texts that all skins share. They are not escaped.

// String returns the side with the way in which it was made.
func (s Side) String() string {
	text := s.Name
	switch {
	case s.Output != "":
		text += ", committed output in " + s.Output
	case !s.AsIs:
		text += ", rendered"
	}
	if s.Tool != "" {
		text += " by " + s.Tool
	}
	return text
}

// String counts the instances, such as "1 changed, 30 unchanged, 2 unknown".
func (c Counts) String() string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{c.Added, "added"}, {c.Changed, "changed"}, {c.Removed, "removed"}, {c.Unchanged, "unchanged"}, {c.Unknown, "unknown"}, {c.Skipped, "of other kinds skipped"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// Violates reports whether nothing but policies refuses the part.
func (u Unknown) Violates() bool {
	return u.Problems.Failed() && !slices.ContainsFunc(u.Problems, func(p problem.Problem) bool {
		return p.Severity == problem.Error && p.Rule != problem.RulePolicy
	})
}

// Title returns the subject of an unknown part and its side.
func (u Unknown) Title() string {
	side := "in " + string(u.Sides)
	if u.Sides == Both {
		side = "on both sides"
	}
	text := u.Subject
	if n := len(u.Instances) - 1; n > 0 && u.Instances[0] == u.Subject {
		text += " and " + source.Count(n, "other instance")
	}
	if u.Violates() {
		return text + ": a policy refuses it " + side
	}
	return text + ": can't be rendered " + side
}

// Text returns the danger without its object.
func (d Danger) Text() string {
	if d.Path == "" {
		return d.Message
	}
	return d.Path + ": " + d.Message
}

// Subject returns the object with its cluster.
func (d Danger) Subject() string { return d.Object.String() + inCluster(d.Cluster) }

// String returns the danger on one line, without markup.
func (d Danger) String() string {
	text := d.Subject() + ": " + d.Text()
	if d.Others > 0 {
		text += fmt.Sprintf(" (and in %s)", source.Count(d.Others, "other instance"))
	}
	return text
}

// String returns the input with its versions.
func (in Input) String() string {
	text := string(in.Kind) + " " + in.Name
	switch {
	case in.Action == objectdiff.Add && in.New != "":
		text += ": " + in.New
	case in.Action == objectdiff.Remove && in.Old != "":
		text += ": " + in.Old
	case in.Old != "" || in.New != "":
		text += fmt.Sprintf(": %s → %s", in.Old, in.New)
	}
	return text
}

// Place returns the instance with its position.
func (in *Instance) Place() string {
	place := in.At.String()
	if place == "" {
		place = in.File
	}
	if place == "" {
		return in.name()
	}
	return place + ": " + in.name()
}

// Alone reports whether the instance is a plain object and has no objects beside it.
func (in *Instance) Alone() bool {
	if len(in.Objects) != 1 {
		return false
	}
	o := &in.Objects[0]
	return o.Node == "" && o.Kind == in.Kind && o.Namespace == in.Namespace && o.Name == in.Name
}

// String returns the field with its position.
func (f Field) String() string {
	return f.At.String() + ": " + f.Path + f.Suffix()
}

// Suffix returns what follows the path of a field that only one side has.
func (f Field) Suffix() string {
	switch f.Action {
	case objectdiff.Add:
		return " (added)"
	case objectdiff.Remove:
		return " (removed)"
	}
	return ""
}

// Note names the instance of a group whose changes are shown, or is "" for a single one.
func (r *Report) Note(g Group) string {
	switch {
	case g.ValuesDiffer:
		return "The values differ between instances; those of " + r.Shown(g).name() + inCluster(r.Shown(g).Cluster) + " are shown."
	case len(g.Instances) > 1:
		return "The changes of " + r.Shown(g).name() + inCluster(r.Shown(g).Cluster) + " are shown."
	}
	return ""
}

// Title returns the object with its graph.
func (o *Object) Title() string {
	text := o.String()
	if g := o.Graph(); g != "" {
		text += "  (graph " + g + ")"
	}
	if o.Recreated {
		text += ", deleted and recreated"
	}
	return text
}

// Heading returns the title of a drawing.
func (d Drawing) Heading() string {
	text := "Around the changes of " + d.Title
	if d.Others > 0 {
		text += fmt.Sprintf(" (and %s)", source.Count(d.Others, "other instance"))
	}
	return text
}

// maxText is the largest number of characters of a name or of a line that a skin prints.
// Values are unlimited, and one of a megabyte must not hide the rest of a report.
const maxText = 500

// Clip shortens a very long text, and adds its length.
func Clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	r := []rune(s)
	if len(r) <= maxText {
		return s
	}
	return fmt.Sprintf("%s… (%d characters)", string(r[:maxText]), len(r))
}
