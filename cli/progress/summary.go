package progress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/internal/source"
)

// operations are all that can be done to an object, in the order of a summary.
var operations = []engine.Operation{
	engine.Created, engine.Configured, engine.Recreated, engine.Corrected, engine.Adopted, engine.Unchanged,
	engine.Observed, engine.Deleted, engine.Released,
}

// counts are how many nodes and objects are in which state.
type counts struct {
	// ops counts what was done; deletions only where the object is gone.
	ops                                    map[engine.Operation]int
	nodes, ready, failed, blocked, drifted int
	leaving, deleting, gone, other         int
}

func (e End) count() counts {
	c := counts{ops: map[engine.Operation]int{}}
	if e.Result == nil {
		return c
	}
	for _, s := range e.Result.Statuses {
		switch {
		case s.Op == "", s.Phase == v1alpha1.NodeDeleting:
		case s.Op == engine.Observed && s.Phase != v1alpha1.NodeReady: // it may not even exist
		default:
			c.ops[s.Op]++
		}
		if s.ID == "" {
			c.leaving++
		} else {
			c.nodes++
		}
		switch s.Phase {
		case v1alpha1.NodeReady:
			c.ready++
			if s.Drifted {
				c.drifted++
			}
		case v1alpha1.NodeFailed:
			c.failed++
		case v1alpha1.NodeBlocked:
			c.blocked++
		case v1alpha1.NodeDeleting:
			c.deleting++
		case v1alpha1.NodeGone:
			c.gone++
		default:
			c.other++
		}
	}
	return c
}

// opsText is "3 created, 1 unchanged".
func (c counts) opsText() string {
	var parts []string
	for _, op := range operations {
		if n := c.ops[op]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, op))
		}
	}
	if len(parts) == 0 {
		return "nothing done"
	}
	return strings.Join(parts, ", ")
}

// Summary prints, for a graph that has ended, a line for each object that isn't
// as it should be, a line for each output that isn't known, and one line that
// sums up. An error that isn't about the graph's objects is left to the caller.
func Summary(w io.Writer, e End, color bool) {
	if e.Result == nil {
		return
	}
	for _, s := range e.Result.Statuses {
		if !settled(s) && !(e.Ready() && s.Phase != v1alpha1.NodeFailed) && e.concerns(s) {
			fmt.Fprintf(w, "%s: %s\n", subject(s), stateText(s))
		}
	}
	for _, name := range sortedKeys(e.Result.OutputErrors) {
		if !e.Ready() {
			break // nobody expects them
		}
		fmt.Fprintf(w, "output %s: not known: %s\n", name, oneLine(e.Result.OutputErrors[name].Error()))
	}
	if e.Err == nil && e.Verb == Delete && len(e.Result.Statuses) == 0 {
		fmt.Fprintf(w, "%s: nothing to delete\n", e.Graph)
		return
	}
	if e.Err != nil && !e.timedOut() && len(e.count().ops) == 0 {
		return // the error says it all
	}
	p := painter{color}
	style := green
	if !e.Ready() {
		style = red
	}
	fmt.Fprintf(w, "%s: %s\n", e.Graph, p.paint(style, e.verdict())+": "+e.figures())
}

// concerns says whether a state that isn't as it should be is worth a line. What
// wasn't begun isn't, unless there was all the time for it; and where an error
// ended everything, what waits is none of the news.
func (e End) concerns(s engine.Status) bool {
	switch s.Phase {
	case v1alpha1.NodePending:
		return errors.Is(e.Err, applier.ErrTimeout)
	case v1alpha1.NodeApplying:
		return !errors.Is(e.Err, applier.ErrSuperseded)
	case v1alpha1.NodeBlocked:
		return e.Err == nil || e.timedOut()
	default:
		return true
	}
}

// timedOut says that somebody's patience ended, and not the run by itself.
func (e End) timedOut() bool {
	return errors.Is(e.Err, applier.ErrTimeout) || errors.Is(e.Err, context.Canceled)
}

func settled(s engine.Status) bool {
	return s.Phase == v1alpha1.NodeReady || s.Phase == v1alpha1.NodeGone
}

// verdict says how it ended, and after how long.
func (e End) verdict() string {
	done, not := "ready", "not ready"
	if e.Verb == Delete {
		done, not = "deleted", "not deleted"
	}
	in, after := " in "+elapsed(e.Elapsed), " after "+elapsed(e.Elapsed)
	switch {
	case errors.Is(e.Err, applier.ErrTimeout):
		return not + after + " (--timeout)"
	case errors.Is(e.Err, context.Canceled):
		return "interrupted" + after
	case e.Err != nil:
		return "ended" + after
	case e.Result.Phase == engine.Stuck:
		return "failed" + after
	case e.Result.Phase == engine.Completed:
		return done + in
	case e.Verb == Delete:
		return "deletion begun" + in
	case !e.Ready():
		return "failed" + after
	}
	return "applied" + in
}

// figures are how much was done, and how much is left.
func (e End) figures() string {
	c := e.count()
	text := c.opsText()
	if c.drifted > 0 {
		text += fmt.Sprintf("; %d changed by others", c.drifted)
	}
	if e.Err == nil && e.Result.Phase == engine.Completed {
		return text
	}
	var left []string
	if c.ready < c.nodes {
		left = append(left, fmt.Sprintf("%d of %s ready", c.ready, source.Count(c.nodes, "node")))
	}
	for _, x := range []struct {
		n    int
		word string
	}{{c.failed, "failed"}, {c.blocked, "blocked"}, {c.deleting, "being deleted"}} {
		if x.n > 0 {
			left = append(left, fmt.Sprintf("%d %s", x.n, x.word))
		}
	}
	if e.Verb == Delete && c.other > 0 {
		left = append(left, fmt.Sprintf("%d left", c.other))
	}
	if len(left) == 0 {
		return text
	}
	return text + "; " + strings.Join(left, ", ")
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
