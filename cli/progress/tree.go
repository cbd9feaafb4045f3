package progress

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/inventory"
)

// tree is the state of graphs as [Live] draws it. It is not safe for concurrent
// use.
type tree struct {
	graphs []*branch
}

// branch is one graph of a tree.
type branch struct {
	Graph
	began time.Time
	// outcome is nil while the graph is in progress, and always if it is watched.
	outcome *Outcome
	// observed is the last state of a watched graph. It is nil before the first
	// state, and always if the graph is run.
	observed *observed
	rows     []*row
	index    map[string]*row // by rowKey
}

// row is a node, or an object that left its graph.
type row struct {
	status engine.Status
	// began is when work on the object began, ended when it was ready or gone. They
	// are zero before that.
	began, ended time.Time
}

// newTree returns a tree in which all nodes are pending. The clock starts at now.
func newTree(graphs []Graph, now time.Time) *tree {
	t := &tree{}
	for _, g := range graphs {
		b := &branch{Graph: g, began: now, index: map[string]*row{}}
		for _, n := range g.Nodes {
			r := &row{status: engine.Status{ID: n.ID, Key: n.Key, Wave: n.Wave, Phase: v1alpha1.NodePending}}
			b.rows = append(b.rows, r)
			b.index[n.ID] = r
		}
		t.graphs = append(t.graphs, b)
	}
	return t
}

// branch returns the branch of a graph, or nil if the tree does not have it.
func (t *tree) branch(graph inventory.Owner) *branch {
	for _, b := range t.graphs {
		if b.Owner == graph {
			return b
		}
	}
	return nil
}

// change records a new status. Objects that are not nodes get a row with their
// first status. A change of a graph that the tree does not have is ignored.
func (t *tree) change(graph inventory.Owner, e applier.Event) {
	b := t.branch(graph)
	if b == nil {
		return
	}
	key := rowKey(e.Status)
	r := b.index[key]
	if r == nil {
		r = &row{}
		b.rows = append(b.rows, r)
		b.index[key] = r
	}
	r.change(e)
}

// rowKey identifies a row within its graph: the id of a node, or the key of an
// object that left the graph.
func rowKey(s engine.Status) string { return cmp.Or(s.ID, "\x00"+s.Key.String()) }

// change sets the status and the times of a row.
func (r *row) change(e applier.Event) {
	r.status = e.Status
	switch e.Phase {
	case v1alpha1.NodePending, v1alpha1.NodeBlocked: // work has not begun
	case v1alpha1.NodeReady, v1alpha1.NodeGone:
		if r.began.IsZero() {
			r.began = e.Time
		}
		if r.ended.IsZero() {
			r.ended = e.Time
		}
	default:
		if r.began.IsZero() {
			r.began = e.Time
		}
		r.ended = time.Time{} // an object that was ready may become unready
	}
}

// frame returns the lines of the tree for a window. If the whole tree is too high,
// frame leaves out nodes that are idle, and then cuts the rest. Without a height
// (0) nothing is left out.
func (t *tree) frame(p style.Painter, now time.Time, width, height int) []string {
	lines := t.lines(now, width, false)
	if height > 0 && len(lines) > height {
		lines = t.lines(now, width, true)
	}
	if height > 0 && len(lines) > height {
		more := len(lines) - (height - 1)
		lines = append(lines[:height-1], style.Line{{Style: style.Dim, Text: fmt.Sprintf("… %d more lines", more)}})
	}
	texts := make([]string, len(lines))
	for i, line := range lines {
		texts[i] = line.Render(p, width)
	}
	return texts
}

// lines returns the lines of all graphs. With short, graphs that are ready get
// their title only, and others a count of their idle nodes.
func (t *tree) lines(now time.Time, width int, short bool) []style.Line {
	var lines []style.Line
	for _, b := range t.graphs {
		lines = append(lines, b.title(now))
		if short && b.ready() {
			continue
		}
		lines = append(lines, b.lines(now, width, short)...)
	}
	return lines
}

// ready reports whether the graph is ready or its run has succeeded.
func (b *branch) ready() bool {
	return b.observed != nil && b.observed.ready || b.outcome != nil && b.outcome.Ready()
}

// title returns the name of the graph with its state or outcome, or with the time
// since its run began.
func (b *branch) title(now time.Time) style.Line {
	l := style.Line{{Style: style.Bold, Text: b.Owner.String()}}
	if b.Source != "" {
		l = append(l, style.Span{Text: " (" + oneLine(b.Source) + ")"})
	}
	if b.observed != nil {
		return append(l, style.Span{Style: b.observed.style, Text: "  " + b.observed.text})
	}
	if b.outcome != nil {
		color := style.Green
		if !b.outcome.Ready() {
			color = style.Red
		}
		if b.outcome.Result == nil {
			return append(l, style.Span{Style: color, Text: "  failed"})
		}
		return append(l, style.Span{Style: color, Text: "  " + b.outcome.verdict()})
	}
	return append(l, style.Span{Style: style.Dim, Text: "  " + elapsed(now.Sub(b.began))})
}

// lines returns the rows of the graph below a heading for each wave. With short,
// the last line counts the idle rows instead.
func (b *branch) lines(now time.Time, width int, short bool) []style.Line {
	columns := b.layout(width)
	rows := slices.Clone(b.rows)
	slices.SortStableFunc(rows, func(x, y *row) int { return cmp.Compare(x.heading(), y.heading()) })
	var lines []style.Line
	last := -1
	idle := map[string]int{} // rows by the word for their state
	for _, r := range rows {
		if short && !r.active() {
			word, _ := state(r.status)
			idle[word]++
			continue
		}
		if h := r.heading(); h != last {
			last = h
			text := fmt.Sprintf("wave %d", h+1)
			if h == removing {
				text = "removing"
			}
			lines = append(lines, style.Line{{Style: style.Dim, Text: text}})
		}
		lines = append(lines, b.row(r, now, columns))
	}
	if len(idle) > 0 {
		text := "  …"
		for _, word := range sortedKeys(idle) {
			text += fmt.Sprintf(" %d %s,", idle[word], word)
		}
		lines = append(lines, style.Line{{Style: style.Dim, Text: text[:len(text)-1]}})
	}
	return lines
}

// removing is the heading of objects that left the graph. It sorts after all waves.
const removing = 1 << 30

// heading returns the wave of the row, from 0, or removing.
func (r *row) heading() int {
	if r.status.ID == "" {
		return removing
	}
	return r.status.Wave
}

// active reports whether the object is changing or has failed. Other rows are idle.
func (r *row) active() bool {
	switch r.status.Phase {
	case v1alpha1.NodePending, v1alpha1.NodeBlocked, v1alpha1.NodeReady, v1alpha1.NodeGone:
		return false
	case v1alpha1.NodeApplying, v1alpha1.NodeProgressing, v1alpha1.NodeDegraded, v1alpha1.NodeWaiting, v1alpha1.NodeFailed, v1alpha1.NodeDeleting:
	}
	return true
}

// object returns the name of the object of a row.
func (b *branch) object(r *row) string {
	k := r.status.Key
	return style.Object(k.Kind, k.Name, k.Namespace, b.Namespace)
}

// layout has the widths of the columns for ids and objects, in columns of the
// terminal.
type layout struct {
	ids, objects int
	// narrow is set if the window has no room for both.
	narrow bool
}

// otherColumns is the width of the columns after id and object: symbol, gaps,
// state, time, and the least that is useful of the details. The numbers follow
// the formats in row.
const otherColumns = 4 + 2 + 2 + 12 + 8 + 24

// layout fits the columns to the rows of the graph and the width of the window.
func (b *branch) layout(width int) layout {
	var l layout
	for _, r := range b.rows {
		l.ids, l.objects = max(l.ids, style.Width(r.status.ID)), max(l.objects, style.Width(b.object(r)))
	}
	// A single long name must not push the other columns out of the window.
	l.ids, l.objects = min(l.ids, 30), min(l.objects, 50)
	l.narrow = l.ids+l.objects+otherColumns > width
	return l
}

// row returns the line of a row: symbol, id, object, state, time and details. A
// narrow line has the id or, without one, the object.
func (b *branch) row(r *row, now time.Time, columns layout) style.Line {
	look := style.Phase(r.status.Phase)
	word, detail := state(r.status)
	took := ""
	if !r.began.IsZero() {
		end := r.ended
		if end.IsZero() {
			end = now
		}
		took = elapsed(end.Sub(r.began))
	}
	l := style.Line{{Style: look.Color, Text: "  " + look.Symbol + " "}}
	if columns.narrow {
		return append(l,
			style.Span{Text: style.Pad(cmp.Or(r.status.ID, b.object(r)), columns.ids) + " "},
			style.Span{Style: look.Color, Text: word},
			style.Span{Style: style.Dim, Text: " " + took + " "},
			style.Span{Text: detail})
	}
	if columns.ids > 0 {
		l = append(l, style.Span{Text: style.Pad(r.status.ID, columns.ids) + "  "})
	}
	return append(l,
		style.Span{Style: style.Dim, Text: style.Pad(b.object(r), columns.objects) + "  "},
		style.Span{Style: look.Color, Text: style.Pad(word, len("progressing")) + " "},
		style.Span{Style: style.Dim, Text: fmt.Sprintf("%6s  ", took)},
		style.Span{Text: detail})
}
