package progress

import (
	"fmt"
	"slices"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/inventory"
)

// observed is the last state of a watched graph: the text after its name, in a style.
type observed struct {
	ready bool
	style style.Style
	text  string
}

// goneText is the state of a graph or an object that was deleted.
const goneText = "gone"

// stateSummary returns the state of a graph in one phrase:
// "not ready, 1 of 3 ready; CAUSE".
func stateSummary(s *applier.State) string {
	ready := 0
	for _, n := range s.Nodes {
		if n.Phase == v1alpha1.NodeReady {
			ready++
		}
	}
	text := "not ready"
	if s.Ready {
		text = "ready"
	}
	text += fmt.Sprintf(", %d of %d ready", ready, len(s.Nodes))
	if s.Unfinished && ready == len(s.Nodes) {
		text += ", and the run isn't finished"
	}
	if s.Cause != "" {
		text += "; " + oneLine(s.Cause)
	}
	return text
}

// watchedStatus returns the status of a node without operations: a watch observes
// states, not what a run did.
func watchedStatus(n applier.NodeState) engine.Status {
	s := n.Status
	s.Op, s.Taken = "", nil
	return s
}

// Show draws the state of a watched graph. Times are counted from when this watch
// first saw an object in its phase; objects in the first state have none, because
// it is unknown how long they have been in it.
func (l *Live) Show(s *applier.State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.tree.branch(s.Owner)
	if b == nil {
		return
	}
	now, first, was := l.term.Now(), b.observed == nil, b.index
	b.observed = &observed{ready: s.Ready, style: style.Yellow, text: stateSummary(s)}
	switch {
	case s.Ready:
		b.observed.style = style.Green
	case slices.ContainsFunc(s.Nodes, func(n applier.NodeState) bool {
		return n.Phase == v1alpha1.NodeFailed || n.Phase == v1alpha1.NodeDegraded
	}):
		b.observed.style = style.Red
	}
	b.rows, b.index = nil, map[string]*row{}
	for _, n := range s.Nodes {
		status := watchedStatus(n)
		key := rowKey(status)
		r := was[key]
		switch {
		case first:
			r = &row{status: status}
		case r == nil:
			r = &row{}
			fallthrough // a new node has changed
		case r.status.Phase != status.Phase:
			r.change(applier.Event{Time: now, Status: status})
		default:
			r.status = status
		}
		b.rows = append(b.rows, r)
		b.index[key] = r
	}
}

// Err returns nil: a terminal that cannot be written to has no reader.
func (l *Live) Err() error { return nil }

// Gone draws a graph that was deleted.
func (l *Live) Gone(graph inventory.Owner) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.tree.branch(graph); b != nil {
		b.observed, b.rows, b.index = &observed{style: style.Yellow, text: goneText}, nil, map[string]*row{}
	}
}
