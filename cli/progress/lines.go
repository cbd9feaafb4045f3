package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// Lines is a [Sink] for logs. It prints a line when an operation was performed on
// an object, when an object waits for something, and when it is ready. It does
// not repeat the previous line of the object. It ignores write errors: a full log
// must not stop a run.
type Lines struct {
	mu sync.Mutex
	w  io.Writer
	// named is set if lines begin with the name of their graph.
	named bool
	said  map[objectOf]said
}

// objectOf identifies an object and the graph that it is shown for. Two graphs
// may report the same object, for example when it moves from one to the other.
type objectOf struct {
	graph inventory.Owner
	key   inventory.Key
}

// said records the last output about an object. op is the operation, state the
// phase with its details; both are empty before the first line about it.
type said struct {
	op    string
	state string
}

// NewLines returns a sink that prints to w. If there are several graphs, each line
// begins with the name of its graph.
func NewLines(w io.Writer, graphs []Graph) *Lines {
	return &Lines{w: w, named: len(graphs) > 1, said: map[objectOf]said{}}
}

// Change prints the news about an object, which may be none.
func (l *Lines) Change(graph inventory.Owner, e applier.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	object := objectOf{graph, e.Key}
	is, lines := news(l.said[object], e.Status)
	l.said[object] = is
	for _, text := range lines {
		if l.named {
			fmt.Fprintf(l.w, "%s: ", graph)
		}
		fmt.Fprintf(l.w, "%s: %s\n", subject(e.Status), text)
	}
}

// news returns the lines to print for a status. was is the record of the output
// about the object so far, is the record after these lines. Phases that pass
// within a request, and objects that wait for others, yield no lines: the summary
// names those that still wait at the end.
func news(was said, s engine.Status) (is said, lines []string) {
	is = was
	if op := opText(s); op != "" && op != was.op {
		is.op = op
		lines = append(lines, op)
	}
	text := stateText(s)
	switch s.Phase {
	case v1alpha1.NodeReady:
		ready := "ready"
		if s.Drifted {
			ready += ", " + driftText
		}
		switch {
		case len(lines) > 0:
			lines[0] += ", " + ready
		case was.state != ready && (was.state != "" || s.Drifted):
			lines = append(lines, ready)
		}
		is.state = ready
		return is, lines
	case v1alpha1.NodePending, v1alpha1.NodeBlocked:
		return is, lines
	case v1alpha1.NodeApplying:
		if s.Message == "" {
			return is, lines // only a request is in flight
		}
	case v1alpha1.NodeDeleting:
		if !strings.Contains(s.Message, "held by") {
			return is, lines // without a finalizer, the object is gone in a moment
		}
	case v1alpha1.NodeGone, v1alpha1.NodeWaiting, v1alpha1.NodeProgressing, v1alpha1.NodeDegraded, v1alpha1.NodeFailed:
	}
	if text != was.state {
		is.state = text
		lines = append(lines, text)
	}
	return is, lines
}

// Warn prints a warning.
func (l *Lines) Warn(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintln(l.w, "warning: "+oneLine(text))
}

// Finish prints nothing: [Summary] prints the outcome.
func (l *Lines) Finish(Outcome) {}

// Close prints nothing.
func (l *Lines) Close() {}
