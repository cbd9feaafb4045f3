package page

import (
	"cmp"
	"html/template"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/statusview"
	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/review/drawing"
)

// Graph is the state of a graph with all that the page shows of it.
type Graph struct {
	statusview.Graph
	// History are the finished executions, newest first. NoHistory says why there are none.
	History   []v1alpha1.Revision
	NoHistory string
	// Events are the newest Events of the graph, newest first, and AllEvents is the number
	// of all. NoEvents says why there are none.
	Events    []Event
	AllEvents int
	NoEvents  string
}

// Event is an Event of a graph.
type Event struct {
	Time    time.Time
	Warning bool
	Reason  string
	Message string
	Count   int32
}

// Section is a part of the page. ID is that of its element.
type Section struct {
	ID   string        `json:"id"`
	HTML template.HTML `json:"html"`
}

// Of returns the parts of the page that show a graph, in their order.
func Of(g Graph) ([]Section, error) {
	v := newView(g)
	var sections []Section
	for _, id := range []string{"summary", "drawing", "nodes", "outputs", "history", "events"} {
		content, err := execute(id, v)
		if err != nil {
			return nil, err
		}
		sections = append(sections, Section{ID: id, HTML: content})
	}
	return sections, nil
}

// view has the data of the templates.
type view struct {
	Graph
	Word, Class string // of the graph as a whole
	ReadyNodes  int
	Rows        []row
	Drawing     template.HTML
	Undrawn     int  // nodes that the drawing leaves out
	Calm        bool // all nodes are ready, without drift
	Values      []value
}

// row is a node in the table.
type row struct {
	statusview.Node
	Key         string // of the element
	Object      string
	Word, Class string
	Sign        string
	Blocks      []string // ids of the nodes that wait for this one
	Changes     []string
}

// value is an output.
type value struct {
	Name, Value string
	Unknown     bool
}

func newView(g Graph) view {
	v := view{Graph: g, Word: "not ready", Class: "progressing"}
	blocks := map[string][]string{}
	for _, n := range g.Nodes {
		if n.BlockedBy != "" {
			blocks[n.BlockedBy] = append(blocks[n.BlockedBy], n.ID)
		}
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		r := row{Node: *n, Key: key(i), Object: style.Object(n.Kind, n.Name, n.Namespace, g.Namespace), Sign: style.Phase(n.Phase).Symbol, Blocks: blocks[n.ID]}
		r.Word, r.Class = strings.ToLower(string(n.Phase)), strings.ToLower(string(n.Phase))
		if n.ID == "" {
			r.Blocks = nil
		}
		if n.Drifted && n.Phase == v1alpha1.NodeReady {
			r.Word, r.Class, r.Sign = "drifted", "drifted", "!"
		}
		for _, c := range n.ChangedBy {
			r.Changes = append(r.Changes, c.Field+" by "+c.Manager)
		}
		switch n.Phase {
		case v1alpha1.NodeReady:
			v.ReadyNodes++
		case v1alpha1.NodeFailed:
			v.Word, v.Class = "failed", "failed"
		case v1alpha1.NodeDegraded:
			if v.Class != "failed" {
				v.Word, v.Class = "degraded", "degraded"
			}
		}
		v.Rows = append(v.Rows, r)
	}
	if g.Ready {
		v.Word, v.Class = "ready", "ready"
	}
	v.Calm = !slices.ContainsFunc(v.Rows, func(r row) bool { return r.Class != "ready" })
	part := drawn(v.Rows)
	v.Drawing, v.Undrawn = draw(v, part), len(v.Rows)-len(part)
	for _, name := range slices.Sorted(maps.Keys(g.Outputs)) {
		v.Values = append(v.Values, value{Name: name, Value: statusview.OutputText(g.Outputs[name])})
	}
	for _, name := range slices.Sorted(maps.Keys(g.UnknownOutputs)) {
		v.Values = append(v.Values, value{Name: name, Value: g.UnknownOutputs[name], Unknown: true})
	}
	return v
}

// draw returns the drawing of the rows of part, which are indexes.
func draw(v view, part []int) template.HTML {
	if len(part) == 0 {
		return ""
	}
	g := drawing.Graph{Title: v.Namespace + "/" + v.Name, Instead: "The list below has all nodes."}
	index, place := byID(v.Rows), map[int]int{}
	for at, i := range part {
		r := v.Rows[i]
		lines := []string{cmp.Or(r.ID, "left the graph"), r.Object}
		if text := cmp.Or(strings.Join(r.Changes, ", "), r.Message); text != "" {
			lines = append(lines, text)
		}
		g.Nodes = append(g.Nodes, drawing.Node{Lines: lines, Mark: mark(r), Link: "#" + r.Key})
		place[i] = at
	}
	for at, i := range part {
		r := v.Rows[i]
		for _, id := range r.Needs {
			needed, ok := index[id]
			if !ok {
				continue
			}
			from, ok := place[needed]
			if !ok {
				continue // not in the part
			}
			e := drawing.Edge{From: from, To: at}
			if id == r.BlockedBy {
				e.Kind = drawing.Blocking
			}
			g.Edges = append(g.Edges, e)
		}
	}
	return template.HTML(drawing.Element(g))
}

// mark returns the mark of a node.
func mark(r row) drawing.Mark {
	if r.Class == "drifted" {
		return drawing.Drifted
	}
	switch r.Phase {
	case v1alpha1.NodeReady:
		return drawing.Ready
	case v1alpha1.NodeFailed, v1alpha1.NodeDegraded:
		return drawing.Failed
	case v1alpha1.NodeApplying:
		return drawing.Applying
	case v1alpha1.NodeProgressing:
		return drawing.Progressing
	case v1alpha1.NodeWaiting:
		return drawing.Waiting
	case v1alpha1.NodeBlocked:
		return drawing.Blocked
	case v1alpha1.NodeDeleting:
		return drawing.Deleting
	case v1alpha1.NodeGone:
		return drawing.Gone
	case v1alpha1.NodePending:
	}
	return drawing.Pending
}

// key returns the id of the element of a node.
func key(i int) string { return "node-" + strconv.Itoa(i) }
