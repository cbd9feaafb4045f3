package progress

import (
	"fmt"
	"io"
	"slices"
	"sync"

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

// States prints the states of watched graphs: all nodes at first, and then a line
// for each change. The line of the graph itself follows the changes of its nodes
// that led to it. For example:
//
//	db (StatefulSet.apps shop/web-db): ready
//	app (Deployment.apps shop/web): progressing: Available: 0/3
//	shop/web: not ready, 1 of 2 ready
type States struct {
	mu    sync.Mutex // guards everything below
	w     io.Writer
	named bool // lines of nodes begin with the name of their graph
	shown map[inventory.Owner]*shownGraph
	// objects are the last lines about objects that are no graphs.
	objects map[inventory.Key]string
	err     error // the first error of w
}

// shownGraph records the last output about a graph.
type shownGraph struct {
	ready bool
	cause string
	nodes map[string]shownNode // by rowKey
}

// shownNode records the last output about a node.
type shownNode struct {
	object        inventory.Key
	subject, text string
}

// NewStates returns a printer to w. If several graphs are watched, each line begins
// with the name of its graph.
func NewStates(w io.Writer, several bool) *States {
	return &States{w: w, named: several, shown: map[inventory.Owner]*shownGraph{}}
}

// Show prints how a state differs from the previous one of the same graph.
func (l *States) Show(s *applier.State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.shown[s.Owner]
	is := &shownGraph{ready: s.Ready, cause: s.Cause, nodes: map[string]shownNode{}}
	if was == nil {
		was = &shownGraph{ready: !s.Ready} // so that the graph gets its first line
	}
	present := map[inventory.Key]bool{}
	for _, n := range s.Nodes {
		status := watchedStatus(n)
		shown := shownNode{status.Key, subject(status), stateText(status)}
		key := rowKey(status)
		is.nodes[key], present[status.Key] = shown, true
		if was.nodes[key] != shown {
			l.line(s.Owner, shown.subject, shown.text)
		}
	}
	// An object that left the graph is shown under its key first, and is gone after
	// that. A node that changed its id keeps its object.
	for _, key := range sortedKeys(was.nodes) {
		if old := was.nodes[key]; !present[old.object] {
			l.line(s.Owner, old.subject, goneText)
		}
	}
	if was.ready != is.ready || was.cause != is.cause {
		l.print("%s: %s\n", s.Owner, stateSummary(s))
	}
	l.shown[s.Owner] = is
}

// line prints the line of a node, after the name of its graph if there are several.
func (l *States) line(graph inventory.Owner, subject, text string) {
	if l.named {
		l.print("%s: ", graph)
	}
	l.print("%s: %s\n", subject, text)
}

// print writes to w, and records the first error.
func (l *States) print(format string, args ...any) {
	if _, err := fmt.Fprintf(l.w, format, args...); l.err == nil {
		l.err = err
	}
}

// Err returns the first write error.
func (l *States) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Gone prints that a graph was deleted.
func (l *States) Gone(graph inventory.Owner) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.print("%s: %s\n", graph, goneText)
}

// Close prints nothing.
func (l *States) Close() {}

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
