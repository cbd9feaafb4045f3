package statusview

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/internal/source"
)

// Tree configures [TreeText]. The zero value is the short form without
// color.
type Tree struct {
	Color bool
	// Wide adds API versions, namespaces, dependencies and outputs.
	Wide bool
	// Width is where lines are wrapped; 0 means not at all.
	Width int
}

// TreeText returns a report as a tree of waves and nodes. The branches show waves
// only: a node may depend on several others, so dependencies are a column of the
// wide form.
func TreeText(r Report, t Tree) string {
	p := printer{Painter: style.Painter{Color: t.Color}, wide: t.Wide, width: t.Width}
	for i, g := range r.Graphs {
		if i > 0 {
			p.b.WriteByte('\n')
		}
		p.graph(g)
	}
	return p.b.String()
}

// printer collects the text of a tree.
type printer struct {
	style.Painter
	b     strings.Builder
	wide  bool
	width int
}

// graph prints the title of a graph, its waves, and with wide its outputs. The
// columns of all waves have the same widths. Within a wave, nodes keep the order
// of the report.
func (p *printer) graph(g Graph) {
	p.b.WriteString(p.title(g) + "\n")
	// Sort a copy: the report belongs to the caller.
	nodes := slices.Clone(g.Nodes)
	slices.SortStableFunc(nodes, func(x, y Node) int { return cmp.Compare(x.heading(), y.heading()) })
	needs := map[string][]string{} // by the id of the node
	if arrows, _ := g.arrows(); p.wide {
		for _, a := range arrows {
			needs[g.Nodes[a.To].ID] = append(needs[g.Nodes[a.To].ID], g.Nodes[a.From].ID)
		}
	}
	cells := make([][]style.Span, len(nodes))
	for i, n := range nodes {
		cells[i] = p.cells(g, n, needs[n.ID])
	}
	lines := style.Columns(p.Painter, cells, max(0, p.width-style.BranchWidth))
	// Each round prints the nodes of one heading.
	for i := 0; i < len(nodes); {
		title := nodes[i].title()
		var rows []string
		for heading := nodes[i].heading(); i < len(nodes) && nodes[i].heading() == heading; i++ {
			rows = append(rows, lines[i])
		}
		style.WriteBranches(&p.b, p.Paint(style.Dim, title), rows, p.width)
	}
	if p.wide {
		p.outputs(g)
	}
}

// title returns the first line of a graph: its name, whether it is ready, the
// number of ready nodes, how current the list of nodes is, and the message of the
// applier about the graph.
func (p *printer) title(g Graph) string {
	verdict, color := "ready", style.Green
	if !g.Ready {
		verdict, color = "not ready", style.Red
	}
	ready := 0
	for _, n := range g.Nodes {
		if n.Phase == v1alpha1.NodeReady {
			ready++
		}
	}
	name := source.Escape(g.Namespace+"/"+g.Name, "")
	title := fmt.Sprintf("%s: %s, %d of %d ready", p.Paint(style.Bold, name), p.Paint(color, verdict), ready, len(g.Nodes))
	switch {
	// The list of nodes is current, unless it comes from the inventory of a run.
	case g.Unfinished && g.Source != applier.SourceInventory:
		title += " (a run is in progress, or was interrupted)"
	case g.Unfinished:
		title += " (from the inventory of a run that did not finish)"
	case g.Source == applier.SourceInventory:
		title += " (from the inventory of the last run)"
	}
	if g.Cause != "" {
		title += "; " + source.Escape(g.Cause, "")
	}
	return title
}

// leftGraph is the heading of objects that left the graph. It sorts after all waves.
const leftGraph = 1 << 30

// heading returns the wave of a node, or leftGraph.
func (n Node) heading() int {
	if n.ID == "" {
		return leftGraph
	}
	return n.Wave
}

// title returns the text of the heading.
func (n Node) title() string {
	if n.ID == "" {
		return "left the graph"
	}
	return fmt.Sprintf("wave %d", n.Wave)
}

// cells returns the columns of a node: id, object, phase, with wide the nodes that
// it depends on, which are needs, and the message.
func (p *printer) cells(g Graph, n Node, needs []string) []style.Span {
	object := style.Object(n.Kind, n.Name, n.Namespace, g.Namespace)
	if p.wide {
		object = n.APIVersion + " " + n.Kind + " "
		if n.Namespace != "" {
			object += n.Namespace + "/"
		}
		object += n.Name
	}
	color := style.Phase(n.Phase).Color
	if n.Phase == v1alpha1.NodePending { // work is missing, not yet to begin
		color = style.Yellow
	}
	cells := []style.Span{{Text: source.Escape(n.ID, "")}, {Text: source.Escape(object, "")}, {Style: color, Text: strings.ToLower(string(n.Phase))}}
	if p.wide {
		text := ""
		if len(needs) > 0 {
			text = "← " + source.Escape(strings.Join(style.First(needs), ", "), "")
		}
		cells = append(cells, style.Span{Text: text})
	}
	message := source.Escape(n.Message, "")
	if n.Drifted {
		message += "was changed by others since it was applied; drift is only reported"
	}
	return append(cells, style.Span{Text: message})
}

// outputs prints the outputs of a graph, sorted by name. An output without a value
// shows the reason in parentheses.
func (p *printer) outputs(g Graph) {
	values := map[string]string{}
	for name, value := range g.Outputs {
		values[name] = source.Escape(OutputText(value), "")
	}
	for name, reason := range g.UnknownOutputs {
		values[name] = "(" + source.Escape(reason, "") + ")"
	}
	if len(values) == 0 {
		return
	}
	var rows []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		rows = append(rows, source.Escape(name, "")+": "+values[name])
	}
	style.WriteBranches(&p.b, p.Paint(style.Dim, "outputs"), rows, p.width)
}

// OutputText returns a string as it is, and any other value as JSON. So a host
// name has no quotes, and a list is recognizable as one.
func OutputText(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value) // not reached: the values that CEL returns can be marshaled
	}
	return string(data)
}
