package progress

import (
	"fmt"
	"io"
	"sync"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/cli/statusview"
	"github.com/pequod-io/pequod/inventory"
)

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

// ShowObject prints the state of an Action, a Monitor or a Receiver, unless its line is the last one
// that was printed about it:
//
//	Action shop/db: not ready, Applying: the run is in progress
func (l *States) ShowObject(key inventory.Key, state statusview.Row) { l.object(key, state.Line()) }

// GoneObject prints that an object was deleted.
func (l *States) GoneObject(key inventory.Key) {
	l.object(key, key.Kind+" "+key.Namespace+"/"+key.Name+": "+goneText)
}

// object prints the line of an object, unless it is the last one.
func (l *States) object(key inventory.Key, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.objects[key] == line {
		return
	}
	if l.objects == nil {
		l.objects = map[inventory.Key]string{}
	}
	l.objects[key] = line
	l.print("%s\n", line)
}
