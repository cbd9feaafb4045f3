package progress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/internal/source"
)

// operations lists everything that a run can do to an object, in the order in which
// summaries count it.
var operations = []engine.Operation{
	engine.Created, engine.Configured, engine.Recreated, engine.Corrected, engine.Adopted, engine.Unchanged,
	engine.Observed, engine.Deleted, engine.Released,
}

// counts has the numbers of nodes and objects by operation and phase.
type counts struct {
	// ops counts operations. A deletion counts when the object is gone.
	ops map[engine.Operation]int
	nodeCounts
	// other counts objects in the remaining phases, except for those that are
	// gone.
	deleting, other int
}

// count counts the objects of the result. Without a result, all counts are 0.
func (o Outcome) count() counts {
	c := counts{ops: map[engine.Operation]int{}}
	if o.Result == nil {
		return c
	}
	for _, s := range o.Result.Statuses {
		switch {
		case s.Op == "", s.Phase == v1alpha1.NodeDeleting:
		case s.Op == engine.Observed && s.Phase != v1alpha1.NodeReady: // the object may not exist
		default:
			c.ops[s.Op]++
		}
		if s.ID != "" {
			c.Total++
		}
		switch s.Phase {
		case v1alpha1.NodeReady:
			c.Ready++
			if s.Drifted {
				c.Drifted++
			}
		case v1alpha1.NodeFailed:
			c.Failed++
		case v1alpha1.NodeBlocked:
			c.Blocked++
		case v1alpha1.NodeDeleting:
			c.deleting++
		case v1alpha1.NodeGone:
		default:
			c.other++
		}
	}
	return c
}

// opsText returns the operations as text: "3 created, 1 unchanged". Operations
// that did not occur are left out.
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

// Summary prints the outcome of a graph: a line for each object that is not in its
// desired state, a line for each output without a value, and a final line with
// counts. It does not print o.Err, which the caller must print. It prints nothing
// for a run that could not start, and nothing but the objects if an error stopped
// the run before it did anything.
func Summary(w io.Writer, o Outcome, color bool) {
	if o.Result == nil {
		return
	}
	for _, s := range o.Result.Statuses {
		if !settled(s) && !(o.Ready() && s.Phase != v1alpha1.NodeFailed) && o.relevant(s) {
			fmt.Fprintf(w, "%s: %s\n", subject(s), stateText(s))
		}
	}
	if o.Ready() { // otherwise missing outputs are no surprise
		for _, name := range sortedKeys(o.Result.OutputErrors) {
			fmt.Fprintf(w, "output %s: not known: %s\n", name, oneLine(o.Result.OutputErrors[name].Error()))
		}
	}
	if o.Err == nil && o.Verb == Delete && len(o.Result.Statuses) == 0 {
		fmt.Fprintf(w, "%s: nothing to delete\n", o.Graph)
		return
	}
	if o.Err != nil && !o.timedOut() && len(o.count().ops) == 0 {
		return
	}
	p := style.Painter{Color: color}
	result := style.Green
	if !o.Ready() {
		result = style.Red
	}
	fmt.Fprintf(w, "%s: %s\n", o.Graph, p.Paint(result, o.verdict())+": "+o.figures())
}

// relevant reports whether an object that is not in its desired state gets a line.
// Objects that the run did not reach are relevant only after a timeout. If an error
// stopped the run, objects that wait for others are not.
func (o Outcome) relevant(s engine.Status) bool {
	switch s.Phase {
	case v1alpha1.NodePending:
		return errors.Is(o.Err, applier.ErrTimeout)
	case v1alpha1.NodeApplying:
		return !errors.Is(o.Err, applier.ErrSuperseded)
	case v1alpha1.NodeBlocked:
		return o.Err == nil || o.timedOut()
	default:
		return true
	}
}

// timedOut reports whether the run was stopped from outside, by its timeout or by a
// signal.
func (o Outcome) timedOut() bool {
	return errors.Is(o.Err, applier.ErrTimeout) || errors.Is(o.Err, context.Canceled)
}

// settled reports whether an object is in its desired state.
func settled(s engine.Status) bool {
	return s.Phase == v1alpha1.NodeReady || s.Phase == v1alpha1.NodeGone
}

// verdict returns the outcome in a few words, with the elapsed time: "ready in
// 12s", "not ready after 5m0s (--timeout)". The Result must not be nil.
func (o Outcome) verdict() string {
	done, not := "ready", "not ready"
	if o.Verb == Delete {
		done, not = "deleted", "not deleted"
	}
	in, after := " in "+elapsed(o.Elapsed), " after "+elapsed(o.Elapsed)
	switch {
	case errors.Is(o.Err, applier.ErrTimeout):
		return not + after + " (--timeout)"
	case errors.Is(o.Err, context.Canceled):
		return "interrupted" + after
	case o.Err != nil:
		return "ended" + after
	case o.Result.Phase == engine.Stuck:
		return "failed" + after
	case o.Result.Phase == engine.Completed:
		return done + in
	case o.Verb == Delete:
		return "deletion started" + in
	case !o.Ready():
		return "failed" + after
	}
	return "applied" + in
}

// figures returns the counts of the final line: what was done and, unless the
// graph is complete, what remains. For example: "1 created, 2 unchanged; 2 of 3
// nodes ready, 1 failed".
func (o Outcome) figures() string {
	c := o.count()
	text := c.opsText()
	if c.Drifted > 0 {
		text += fmt.Sprintf("; %d changed by others", c.Drifted)
	}
	if o.Err == nil && o.Result.Phase == engine.Completed {
		return text
	}
	var left []string
	if c.Ready < c.Total {
		left = append(left, fmt.Sprintf("%d of %s ready", c.Ready, source.Count(c.Total, "node")))
	}
	for _, x := range []struct {
		n    int
		word string
	}{{c.Failed, "failed"}, {c.Blocked, "blocked"}, {c.deleting, "being deleted"}} {
		if x.n > 0 {
			left = append(left, fmt.Sprintf("%d %s", x.n, x.word))
		}
	}
	if o.Verb == Delete && c.other > 0 {
		left = append(left, fmt.Sprintf("%d left", c.other))
	}
	if len(left) == 0 {
		return text
	}
	return text + "; " + strings.Join(left, ", ")
}

// sortedKeys returns the keys of m, so that the output does not depend on the iteration
// order of maps.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
