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

// Lines prints a line for each change that a reader of a log wants to know:
// what was done to an object, what it waits for, that it is ready. What a line
// has said already isn't said again.
type Lines struct {
	mu sync.Mutex
	w  io.Writer
	// named says that lines begin with the graph: there are several.
	named bool
	said  map[place]said
}

type place struct {
	graph inventory.Owner
	key   inventory.Key
}

// said is what was printed about an object.
type said struct {
	op    string
	state string
}

// NewLines prints to w. Where there are several graphs, each line names its own.
func NewLines(w io.Writer, graphs []Graph) *Lines {
	return &Lines{w: w, named: len(graphs) > 1, said: map[place]said{}}
}

// Change prints what is new.
func (l *Lines) Change(graph inventory.Owner, e applier.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := place{graph, e.Key}
	was := l.said[at]
	is, lines := news(was, e.Status)
	l.said[at] = is
	for _, text := range lines {
		if l.named {
			fmt.Fprintf(l.w, "%s: ", graph)
		}
		fmt.Fprintf(l.w, "%s: %s\n", subject(e.Status), text)
	}
}

// news is what is to be said of a state after something was said.
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
		// Who waits for others is named at the end, if it still does.
		return is, lines
	case v1alpha1.NodeApplying:
		if s.Message == "" {
			return is, lines // it lasts for a request
		}
	case v1alpha1.NodeDeleting:
		if !strings.Contains(s.Message, "held by") {
			return is, lines // that it is gone will be said
		}
	case v1alpha1.NodeGone, v1alpha1.NodeWaiting, v1alpha1.NodeProgressing, v1alpha1.NodeFailed:
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

// End prints nothing: a summary follows.
func (l *Lines) End(End) {}

// Close prints nothing.
func (l *Lines) Close() {}
