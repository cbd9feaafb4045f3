package progress

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// tree is what is known of graphs, and how it is shown.
type tree struct {
	graphs []*branch
}

// branch is one graph.
type branch struct {
	Graph
	began time.Time
	end   *End
	// seen is set where the graph isn't run but watched: how it was seen last.
	seen  *seen
	rows  []*row
	index map[string]*row // by id, or by key for objects that left
}

// row is a node, or an object that left its graph.
type row struct {
	status engine.Status
	// began is when it was first worked on, ended when it came to rest.
	began, ended time.Time
}

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

func (t *tree) branch(graph inventory.Owner) *branch {
	for _, b := range t.graphs {
		if b.Owner == graph {
			return b
		}
	}
	return nil
}

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

// rowKey tells rows of a graph apart.
func rowKey(s engine.Status) string { return cmp.Or(s.ID, "\x00"+s.Key.String()) }

func (r *row) change(e applier.Event) {
	r.status = e.Status
	switch e.Phase {
	case v1alpha1.NodePending, v1alpha1.NodeBlocked:
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
		r.ended = time.Time{}
	}
}

// stateStyle is how a state is shown: a symbol, which tells it without colour
// too, and a colour.
func stateStyle(phase v1alpha1.NodePhase) (symbol, style string) {
	switch phase {
	case v1alpha1.NodeReady:
		return "✓", green
	case v1alpha1.NodeFailed:
		return "✗", red
	case v1alpha1.NodeApplying, v1alpha1.NodeProgressing:
		return "▸", yellow
	case v1alpha1.NodeWaiting:
		return "?", yellow
	case v1alpha1.NodeDeleting:
		return "−", yellow
	case v1alpha1.NodeGone:
		return "−", dim
	case v1alpha1.NodeBlocked, v1alpha1.NodePending:
	}
	return "·", dim
}

// frame is the tree in a window: whole if it fits, else without what is at rest,
// else cut. A height of 0 means no bound.
func (t *tree) frame(now time.Time, width, height int) []line {
	lines := t.lines(now, width, false)
	if height > 0 && len(lines) > height {
		lines = t.lines(now, width, true)
	}
	if height > 0 && len(lines) > height {
		more := len(lines) - (height - 1)
		lines = append(lines[:height-1], line{{dim, fmt.Sprintf("… %d more lines", more)}})
	}
	for i := range lines {
		lines[i] = lines[i].cut(width)
	}
	return lines
}

func (t *tree) lines(now time.Time, width int, short bool) []line {
	var lines []line
	for _, b := range t.graphs {
		lines = append(lines, b.title(now))
		if short && b.ready() {
			continue
		}
		lines = append(lines, b.lines(now, width, short)...)
	}
	return lines
}

// ready says that there is nothing about a graph that anybody has to look at.
func (b *branch) ready() bool { return b.seen != nil && b.seen.ready || b.end != nil && b.end.Ready() }

// title names the graph, and how it is, or for how long it has been worked on.
func (b *branch) title(now time.Time) line {
	l := line{{bold, b.Owner.String()}}
	if b.Source != "" {
		l = append(l, span{"", " (" + oneLine(b.Source) + ")"})
	}
	if b.seen != nil {
		return append(l, span{b.seen.style(), "  " + b.seen.text})
	}
	if b.end != nil {
		style := green
		if !b.end.Ready() {
			style = red
		}
		if b.end.Result == nil {
			return append(l, span{style, "  failed"})
		}
		return append(l, span{style, "  " + b.end.verdict()})
	}
	return append(l, span{dim, "  " + elapsed(now.Sub(b.began))})
}

// lines are the rows under a heading for each wave; short leaves out those at
// rest, and says how many they are.
func (b *branch) lines(now time.Time, width int, short bool) []line {
	at := b.layout(width)
	rows := slices.Clone(b.rows)
	slices.SortStableFunc(rows, func(x, y *row) int { return cmp.Compare(x.heading(), y.heading()) })
	var lines []line
	last := -1
	rest := map[string]int{}
	for _, r := range rows {
		if short && !r.active() {
			word, _ := state(r.status)
			rest[word]++
			continue
		}
		if h := r.heading(); h != last {
			last = h
			text := fmt.Sprintf("wave %d", h+1)
			if h == leaving {
				text = "removing"
			}
			lines = append(lines, line{{dim, text}})
		}
		lines = append(lines, b.row(r, now, at))
	}
	if len(rest) > 0 {
		text := "  …"
		for _, word := range sortedKeys(rest) {
			text += fmt.Sprintf(" %d %s,", rest[word], word)
		}
		lines = append(lines, line{{dim, text[:len(text)-1]}})
	}
	return lines
}

// leaving is the heading of what left the graph, after all waves.
const leaving = 1 << 30

func (r *row) heading() int {
	if r.status.ID == "" {
		return leaving
	}
	return r.status.Wave
}

// active says that something is happening, or went wrong.
func (r *row) active() bool {
	switch r.status.Phase {
	case v1alpha1.NodePending, v1alpha1.NodeBlocked, v1alpha1.NodeReady, v1alpha1.NodeGone:
		return false
	case v1alpha1.NodeApplying, v1alpha1.NodeProgressing, v1alpha1.NodeWaiting, v1alpha1.NodeFailed, v1alpha1.NodeDeleting:
	}
	return true
}

// object names a row's object; its namespace only if it isn't the graph's.
func (b *branch) object(r *row) string {
	k := r.status.Key
	name := k.Kind + "/" + k.Name
	if k.Namespace != "" && k.Namespace != b.Namespace {
		name += " in " + k.Namespace
	}
	return name
}

// layout says how wide the columns are.
type layout struct {
	ids, objects int
	// narrow windows have no room for the object beside the node's id.
	narrow bool
}

// What a row has besides id and object, with some room for the reason.
const restOfRow = 4 + 2 + 2 + 12 + 8 + 24

func (b *branch) layout(width int) layout {
	var at layout
	for _, r := range b.rows {
		at.ids, at.objects = max(at.ids, columns(r.status.ID)), max(at.objects, columns(b.object(r)))
	}
	at.ids, at.objects = min(at.ids, 30), min(at.objects, 50)
	at.narrow = at.ids+at.objects+restOfRow > width
	return at
}

func (b *branch) row(r *row, now time.Time, at layout) line {
	symbol, style := stateStyle(r.status.Phase)
	word, detail := state(r.status)
	took := ""
	if !r.began.IsZero() {
		end := r.ended
		if end.IsZero() {
			end = now
		}
		took = elapsed(end.Sub(r.began))
	}
	l := line{{style, "  " + symbol + " "}}
	if at.narrow {
		return append(l,
			span{"", pad(cmp.Or(r.status.ID, b.object(r)), at.ids) + " "}, span{style, word}, span{dim, " " + took + " "}, span{"", detail})
	}
	if at.ids > 0 {
		l = append(l, span{"", pad(r.status.ID, at.ids) + "  "})
	}
	return append(l,
		span{dim, pad(b.object(r), at.objects) + "  "},
		span{style, pad(word, len("progressing")) + " "},
		span{dim, fmt.Sprintf("%6s  ", took)},
		span{"", detail})
}
