package html

import (
	"html/template"
	"maps"
	"slices"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/review"
	"github.com/pequod-io/pequod/review/drawing"
	"github.com/pequod-io/pequod/review/forecast"
)

// view has the data of report.html.
type view struct {
	*review.Report
	Objects    int
	Unknown    []unknown
	Dangers    []danger
	Groups     []group
	Effects    []effect
	Namespaces []string
	Kinds      []string
}

// unknown is a part without an answer.
type unknown struct {
	review.Unknown
	Reasons []reason
}

// reason is a problem with its place.
type reason struct {
	At   fileLink
	Text string
	Hint string
}

// danger is a danger with a link to its object.
type danger struct {
	review.Danger
	Severe bool
	Href   string
}

// group is a set of instances that change alike. It has one block if their changes are
// equal, and otherwise one for each instance.
type group struct {
	Sign    string
	Class   string
	Title   string
	Note    string
	Drawing template.HTML
	// Hidden is the number of nodes that the drawing leaves out. Undrawn is set if the
	// drawing is left out, because the page has enough of them.
	Hidden  int
	Undrawn bool
	Blocks  []block
}

// effect is a button of the filter. Count is the number of objects with the effect.
type effect struct {
	Effect forecast.Effect
	Count  int
}

// maxDrawings is the number of groups with a drawing, the largest groups first. More would
// make the page too large to open at once.
const maxDrawings = 100

// newView orders a report as the page shows it.
func newView(r *review.Report, o Options) view {
	v := view{Report: r}
	ids := map[int]map[objectdiff.Key]string{} // of entries, by instance and object
	next := 0
	for i := range r.Groups {
		v.Groups = append(v.Groups, o.group(r, &r.Groups[i], ids, &next))
	}
	if r.Live != nil && len(r.Live.Others) > 0 {
		v.Groups = append(v.Groups, o.others(r.Live, &next))
	}
	for _, u := range r.Unknown {
		v.Unknown = append(v.Unknown, o.unknown(u))
	}
	for _, d := range r.Dangers {
		severe := slices.Contains(d.Conditions, review.DataLoss) || slices.Contains(d.Conditions, review.Breaking)
		v.Dangers = append(v.Dangers, danger{Danger: d, Severe: severe, Href: ids[d.Instance][d.Object]})
	}
	v.addFilters(r)
	return v
}

// addFilters fills in what the filters offer: all effects that occur, the most severe
// first, and all namespaces and kinds.
func (v *view) addFilters(r *review.Report) {
	counts := r.Effects()
	all := forecast.Effects()
	slices.Reverse(all)
	for _, e := range all {
		if n := counts[e]; n > 0 {
			v.Effects = append(v.Effects, effect{e, n})
		}
	}
	namespaces, kinds := map[string]bool{}, map[string]bool{}
	for i := range r.Instances {
		for _, o := range r.Instances[i].Objects {
			namespaces[o.Namespace], kinds[o.Kind] = true, true
			v.Objects++
		}
	}
	delete(namespaces, "")
	v.Namespaces, v.Kinds = slices.Sorted(maps.Keys(namespaces)), slices.Sorted(maps.Keys(kinds))
}

func (o Options) unknown(u review.Unknown) unknown {
	out := unknown{Unknown: u}
	for _, p := range u.Problems {
		text := p.Message
		if p.Path != "" {
			text = p.Path + ": " + text
		}
		out.Reasons = append(out.Reasons, reason{At: o.fileLink(p.Position, ""), Text: text, Hint: p.Hint})
	}
	return out
}

// group returns a group, and records the ids of its entries.
func (o Options) group(r *review.Report, g *review.Group, ids map[int]map[objectdiff.Key]string, next *int) group {
	shown := r.Shown(*g)
	out := group{Title: g.Title, Note: r.Note(*g)}
	out.Sign, out.Class = signOf(shown.Action)
	if g.ValuesDiffer {
		out.Note = "The same fields change to different values, so each instance has its own objects below."
		for _, i := range g.Instances {
			out.Blocks = append(out.Blocks, o.block(r, []int{i}, ids, next))
		}
	} else {
		out.Blocks = []block{o.block(r, g.Instances, ids, next)}
	}
	switch {
	case shown.Action != objectdiff.Modify: // everything is new or gone
	case shown.Group >= maxDrawings:
		out.Undrawn = len(shown.Drawing().Edges) > 0
	default:
		out.Drawing, out.Hidden = drawn(shown.Drawing(), ids[g.Instances[0]], shown)
	}
	return out
}

// drawn draws the changed part of a graph. Changed nodes lead to their entries.
func drawn(d review.Drawing, ids map[objectdiff.Key]string, in *review.Instance) (template.HTML, int) {
	if len(d.Edges) == 0 {
		return "", 0
	}
	links := map[string]string{}
	for _, o := range in.Objects {
		if o.Node != "" {
			links[o.Node] = "#" + ids[o.Key]
		}
	}
	// A part of a graph has no whole waves.
	g := drawing.Graph{Title: d.Title, Headings: []string{}, Instead: "The list of objects has all changes."}
	for _, n := range d.Nodes {
		mark := map[objectdiff.Action]drawing.Mark{
			objectdiff.Add: drawing.Added, objectdiff.Modify: drawing.Changed, objectdiff.Remove: drawing.Removed,
		}[n.Action]
		g.Nodes = append(g.Nodes, drawing.Node{Lines: []string{n.ID, n.Kind + "/" + n.Name}, Mark: mark, Link: links[n.ID]})
	}
	for _, e := range d.Edges {
		g.Edges = append(g.Edges, drawing.Edge{From: e.From, To: e.To, Kind: drawing.KindOf(e.Kind)})
	}
	return template.HTML(drawing.Element(g)), d.Hidden
}

// signOf returns the sign of an action and its class in the style sheet.
func signOf(a objectdiff.Action) (sign, class string) {
	switch a {
	case objectdiff.Add:
		return "+", "added"
	case objectdiff.Remove:
		return "−", "removed"
	}
	return "~", "changed"
}

// Summary counts the instances of a report by their outcome.
func (v view) Summary() string {
	return source.Count(v.Objects, "changed object") + " in " + source.Count(len(v.Instances), "instance") +
		"; " + source.Count(v.Counts.Unchanged, "instance") + " without changes"
}

// at returns where an instance is written. A removed one has no file to open.
func (o Options) at(in *review.Instance) fileLink {
	at, path := in.At, in.Path
	if at.File == "" {
		at.File = in.File
	}
	if in.Action == objectdiff.Remove {
		path = ""
	}
	return o.fileLink(at, path)
}
