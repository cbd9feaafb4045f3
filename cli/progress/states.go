package progress

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// seen is how a graph was seen last.
type seen struct {
	ready, failed bool
	text          string
}

func (s *seen) style() string {
	switch {
	case s.ready:
		return green
	case s.failed:
		return red
	}
	return yellow
}

// goneText is all that there is to say of a graph that was deleted.
const goneText = "gone"

// verdict says how a graph is.
func verdict(s *applier.State) string {
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

// shownStatus is a node's state without what a run did to it: nobody saw that.
func shownStatus(n applier.NodeState) engine.Status {
	s := n.Status
	s.Op, s.Taken = "", nil
	return s
}

// States prints how graphs are, and then a line for each change. Whether a graph
// is ready is said after what made it so.
type States struct {
	mu    sync.Mutex
	w     io.Writer
	named bool
	shown map[inventory.Owner]*shownGraph
	err   error
}

// shownGraph is what was printed of a graph last.
type shownGraph struct {
	ready bool
	cause string
	nodes map[string]shownNode
}

type shownNode struct {
	object        inventory.Key
	subject, text string
}

// NewStates prints to w. Lines name their graph if there are several.
func NewStates(w io.Writer, several bool) *States {
	return &States{w: w, named: several, shown: map[inventory.Owner]*shownGraph{}}
}

// Show prints what is new.
func (l *States) Show(s *applier.State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.shown[s.Owner]
	is := &shownGraph{ready: s.Ready, cause: s.Cause, nodes: map[string]shownNode{}}
	if was == nil {
		was = &shownGraph{ready: !s.Ready}
	}
	here := map[inventory.Key]bool{}
	for _, n := range s.Nodes {
		status := shownStatus(n)
		shown := shownNode{status.Key, subject(status), watchedText(status)}
		key := rowKey(status)
		is.nodes[key], here[status.Key] = shown, true
		if was.nodes[key] != shown {
			l.line(s.Owner, shown.subject, shown.text)
		}
	}
	for _, key := range sortedKeys(was.nodes) {
		if old := was.nodes[key]; !here[old.object] {
			l.line(s.Owner, old.subject, goneText)
		}
	}
	if was.ready != is.ready || was.cause != is.cause {
		l.print("%s: %s\n", s.Owner, verdict(s))
	}
	l.shown[s.Owner] = is
}

func (l *States) line(graph inventory.Owner, subject, text string) {
	if l.named {
		l.print("%s: ", graph)
	}
	l.print("%s: %s\n", subject, text)
}

func (l *States) print(format string, args ...any) {
	if _, err := fmt.Fprintf(l.w, format, args...); l.err == nil {
		l.err = err
	}
}

// Err is the first error of writing.
func (l *States) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// watchedText is a state in one phrase.
func watchedText(s engine.Status) string {
	text := stateText(s)
	if s.Phase == v1alpha1.NodeReady {
		text = strings.Replace(text, "ready: but", "ready, but", 1)
	}
	return text
}

// Gone prints that a graph was deleted.
func (l *States) Gone(graph inventory.Owner) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.print("%s: %s\n", graph, goneText)
}

// Close prints nothing.
func (l *States) Close() {}

// Show draws a graph as it is.
func (l *Live) Show(s *applier.State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.tree.branch(s.Owner)
	if b == nil {
		return
	}
	now, first, was := l.term.Now(), b.seen == nil, b.index
	b.seen = &seen{ready: s.Ready, text: verdict(s), failed: slices.ContainsFunc(s.Nodes, func(n applier.NodeState) bool {
		return n.Phase == v1alpha1.NodeFailed
	})}
	b.rows, b.index = nil, map[string]*row{}
	for _, n := range s.Nodes {
		status := shownStatus(n)
		key := rowKey(status)
		r := was[key]
		switch {
		case first: // for how long it has been so isn't known
			r = &row{status: status}
		case r == nil:
			r = &row{}
			fallthrough
		case r.status.Phase != status.Phase:
			r.change(applier.Event{Time: now, Status: status})
		default:
			r.status = status
		}
		b.rows = append(b.rows, r)
		b.index[key] = r
	}
}

// Err is none: a terminal that can't be written to is gone, and with it the reader.
func (l *Live) Err() error { return nil }

// Gone draws a graph that was deleted.
func (l *Live) Gone(graph inventory.Owner) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.tree.branch(graph); b != nil {
		b.seen, b.rows, b.index = &seen{text: goneText}, nil, map[string]*row{}
	}
}
