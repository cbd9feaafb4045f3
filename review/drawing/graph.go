package drawing

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/review/layout"
)

// Style is the style sheet of drawings. Documents contain it; pages with elements
// must add it to their own.
//
//go:embed graph.css
var Style string

// StateStyle is the style sheet of the marks and edges that show the state of a graph in
// a cluster. It is added to [Style].
//
//go:embed state.css
var StateStyle string

// A Graph is drawn as boxes and arrows.
type Graph struct {
	Title string
	Nodes []Node
	Edges []Edge
	// Headings are the titles of the columns. If it is nil, columns are the waves of a
	// whole graph, and have their numbers.
	Headings []string
	// Instead is a sentence with the next step if the graph is too large for a drawing.
	Instead string
}

// A Node is a box.
type Node struct {
	// Lines are the texts in the box. The first identifies the node.
	Lines []string
	Mark  Mark
	// External gives the box round corners and a dashed border: the object belongs to
	// others.
	External bool
	// Link is a fragment of the page, such as #object-7, or empty.
	Link string
}

// An Edge is an arrow between two nodes, which are indexes of Graph.Nodes. To waits
// for From.
type Edge struct {
	From, To int
	Kind     EdgeKind
	// Path is the field that refers to From, for edges of kind Reference.
	Path string
}

// EdgeKind is the cause of an edge.
type EdgeKind int

// The kinds of edges. A Listed dependency is in the graph, a Reference comes from
// a value that is taken from another object, and Pequod adds an Implied one. In a
// cluster, a Blocking dependency keeps To from being applied now.
const (
	Listed EdgeKind = iota
	Reference
	Implied
	Blocking
)

// Mark is the state of a node that a drawing shows.
type Mark int

// The marks of a change, and those of a node in a cluster.
const (
	Unmarked Mark = iota
	Added
	Changed
	Removed
	Unknown
	Ready
	Drifted
	Failed
	Applying
	Progressing
	Waiting
	Blocked
	Pending
	Deleting
	Gone
)

// class returns the name of a mark in style sheets and in badges.
func (m Mark) class() string {
	return [...]string{
		"", "added", "changed", "removed", "unknown",
		"ready", "drifted", "failed", "applying", "progressing", "waiting", "blocked", "pending", "deleting", "gone",
	}[m]
}

// sign returns the character that stands for a mark.
func (m Mark) sign() string {
	return [...]string{"", "+", "~", "−", "?", "✓", "!", "✗", "▸", "▸", "…", "·", "·", "−", "−"}[m]
}

// drawn returns the edges that a drawing has: those that no others imply, and those that
// block, which say more than an order. The edges of plan are those of g.
func (g Graph) drawn(plan layout.Graph) (edges []Edge, planned []layout.Edge) {
	needed := plan.Reduced()
	for i, e := range g.Edges {
		reduced := len(needed) > 0 && needed[0] == i
		if reduced {
			needed = needed[1:]
		}
		if reduced || e.Kind == Blocking {
			edges, planned = append(edges, e), append(planned, plan.Edges[i])
		}
	}
	return edges, planned
}

// TooLarge is the sentence in the place of a drawing that would have more than
// [layout.MaxSteps] steps.
func TooLarge(nodes, arrows int) string {
	return fmt.Sprintf("Too large for a drawing: %s with %s.", source.Count(nodes, "node"), source.Count(arrows, "arrow"))
}

// waits returns the ids of the nodes that each node waits for.
func (g Graph) waits() [][]string {
	waits := make([][]string, len(g.Nodes))
	for _, e := range g.Edges {
		name := g.Nodes[e.From].id()
		switch e.Kind {
		case Reference:
			name += " ($from)"
		case Implied:
			name += " (implied)"
		case Blocking:
			name += " (blocks it)"
		}
		waits[e.To] = append(waits[e.To], name)
	}
	return waits
}

func (n Node) id() string {
	if len(n.Lines) == 0 {
		return ""
	}
	return n.Lines[0]
}

// name returns the accessible name of a node: its lines, its mark, its column and the
// nodes that it waits for.
func (n Node) name(column string, waits []string) string {
	parts := append([]string(nil), n.Lines...)
	if n.Mark != Unmarked {
		parts = append(parts, n.Mark.class())
	}
	if column != "" {
		parts = append(parts, column)
	}
	if len(waits) > 0 {
		parts = append(parts, "waits for "+strings.Join(waits, ", "))
	}
	return strings.Join(parts, ", ")
}

// heading returns the title of a column, which counts from 0.
func (g Graph) heading(column int) string {
	switch {
	case g.Headings == nil:
		return fmt.Sprintf("wave %d", column+1)
	case column < len(g.Headings):
		return g.Headings[column]
	}
	return ""
}

// summary returns the accessible name of a drawing.
func (g Graph) summary(waves int) string {
	if g.Headings != nil {
		return fmt.Sprintf("%s: %s", g.Title, source.Count(len(g.Nodes), "node"))
	}
	return fmt.Sprintf("%s: %s, %s", g.Title, source.Count(len(g.Nodes), "node"), source.Count(waves, "wave"))
}

// KindOf returns the kind of an edge of a ResourceGraph.
func KindOf(k graph.EdgeKind) EdgeKind {
	switch k {
	case graph.Reference:
		return Reference
	case graph.Implied:
		return Implied
	}
	return Listed
}
