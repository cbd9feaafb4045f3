package statusview

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/internal/source"
)

// The escape sequences of the colours.
const (
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	reset  = "\x1b[0m"
)

// Tree says how a tree is shown.
type Tree struct {
	Color bool
	// Wide adds versions, namespaces, what nodes wait for, and outputs.
	Wide bool
}

// WriteTree shows a report as a tree of waves and nodes. What a node waits for
// isn't drawn, as it may be several.
func WriteTree(w io.Writer, r Report, t Tree) error {
	var b strings.Builder
	for i, g := range r.Graphs {
		if i > 0 {
			b.WriteByte('\n')
		}
		t.graph(&b, g)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t Tree) graph(b *strings.Builder, g Graph) {
	verdict, style := "ready", green
	if !g.Ready {
		verdict, style = "not ready", red
	}
	ready := 0
	for _, n := range g.Nodes {
		if n.Phase == v1alpha1.NodeReady {
			ready++
		}
	}
	fmt.Fprintf(b, "%s: %s, %d of %d ready", t.paint(bold, text(g.Namespace+"/"+g.Name)), t.paint(style, verdict), ready, len(g.Nodes))
	switch {
	case g.Unfinished && g.Source != applier.SourceInventory:
		b.WriteString(" (a run is under way, or wasn't finished)")
	case g.Unfinished:
		b.WriteString(" (by the record of a run that wasn't finished)")
	case g.Source == applier.SourceInventory:
		b.WriteString(" (by the record of what was applied)")
	}
	if g.Cause != "" {
		b.WriteString("; " + text(g.Cause))
	}
	b.WriteByte('\n')
	nodes := slices.Clone(g.Nodes)
	slices.SortStableFunc(nodes, func(x, y Node) int { return cmp.Compare(x.heading(), y.heading()) })
	rows := make([][]string, len(nodes))
	for i, n := range nodes {
		rows[i] = t.cells(g, n)
	}
	widths := columns(rows)
	for i, n := range nodes {
		if i == 0 || nodes[i-1].heading() != n.heading() {
			b.WriteString(t.paint(dim, n.title()) + "\n")
		}
		branch := "├── "
		if i == len(nodes)-1 || nodes[i+1].heading() != n.heading() {
			branch = "└── "
		}
		t.row(b, branch, n, rows[i], widths)
	}
	if t.Wide {
		t.outputs(b, g)
	}
}

// left is the heading of what left the graph, after all waves.
const left = 1 << 30

func (n Node) heading() int {
	if n.ID == "" {
		return left
	}
	return n.Wave
}

func (n Node) title() string {
	if n.ID == "" {
		return "left the graph"
	}
	return fmt.Sprintf("wave %d", n.Wave)
}

// cells are the columns of a node but the last, its message.
func (t Tree) cells(g Graph, n Node) []string {
	object := n.Kind + "/" + n.Name
	if t.Wide {
		object = n.APIVersion + " " + n.Kind + " "
		if n.Namespace != "" {
			object += n.Namespace + "/"
		}
		object += n.Name
	} else if n.Namespace != "" && n.Namespace != g.Namespace {
		object += " in " + n.Namespace
	}
	cells := []string{text(n.ID), text(object), strings.ToLower(string(n.Phase))}
	if t.Wide {
		needs := ""
		if len(n.Needs) > 0 {
			needs = "← " + text(strings.Join(n.Needs, ", "))
		}
		cells = append(cells, needs)
	}
	return cells
}

func (t Tree) row(b *strings.Builder, branch string, n Node, cells []string, widths []int) {
	line := branch
	for i, cell := range cells {
		if widths[i] == 0 {
			continue
		}
		padded := cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if i == 2 {
			padded = t.paint(style(n.Phase), padded)
		}
		line += padded + "  "
	}
	line += text(n.Message)
	if n.Drifted {
		line += "was changed by others since it was applied, and is left so"
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}

func columns(rows [][]string) []int {
	widths := make([]int, 4)
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

func style(phase v1alpha1.NodePhase) string {
	switch phase {
	case v1alpha1.NodeReady:
		return green
	case v1alpha1.NodeFailed:
		return red
	case v1alpha1.NodeBlocked:
		return dim
	}
	return yellow
}

func (t Tree) outputs(b *strings.Builder, g Graph) {
	names := make([]string, 0, len(g.Outputs)+len(g.UnknownOutputs))
	values := map[string]string{}
	for name, value := range g.Outputs {
		names = append(names, name)
		values[name] = text(outputText(value))
	}
	for name, why := range g.UnknownOutputs {
		names = append(names, name)
		values[name] = "(" + text(why) + ")"
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	b.WriteString(t.paint(dim, "outputs") + "\n")
	for i, name := range names {
		branch := "├── "
		if i == len(names)-1 {
			branch = "└── "
		}
		b.WriteString(branch + text(name) + ": " + values[name] + "\n")
	}
}

// outputText is a text as it is, and any other value as JSON.
func outputText(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value) // what CEL yields can be written
	}
	return string(data)
}

func (t Tree) paint(style, s string) string {
	if !t.Color || style == "" {
		return s
	}
	return style + s + reset
}

func text(s string) string { return source.Escape(s, "") }
