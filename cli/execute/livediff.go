package execute

import (
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/review/forecast"
)

// LiveDiff returns the changes of plans as a difference of objects: nodes that an
// apply would change, and objects that it would remove or release. Unchanged
// nodes, and those that the graph only observes, are left out, but count for the
// consequences of the others, which are the second result.
func LiveDiff(plans []*applier.Plan) (objectdiff.Diff, map[objectdiff.Key][]forecast.Consequence, error) {
	var changed, all []objectdiff.Live
	for _, plan := range plans {
		for _, n := range plan.Nodes {
			live := LiveNode(plan, n)
			all = append(all, live)
			if n.Op != engine.Unchanged && n.Op != engine.Observed {
				changed = append(changed, live)
			}
		}
		for _, l := range plan.Removals {
			live := LiveRemoval(plan, l)
			all, changed = append(all, live), append(changed, live)
		}
	}
	return LiveChanges(changed, all)
}

// LiveChanges returns the difference of objects that change, and its consequences. all are the
// objects that don't change, too.
func LiveChanges(changed, all []objectdiff.Live) (objectdiff.Diff, map[objectdiff.Key][]forecast.Consequence, error) {
	d, err := objectdiff.CompareLive(changed)
	if err != nil {
		return d, nil, err
	}
	before, after, err := objectdiff.LiveSides(all)
	if err != nil {
		return d, nil, err
	}
	d.WarnSelectors(before, after)
	return d, forecast.OfLive(d, before, after, nil), nil
}

// LiveRemoval returns the change of an object that leaves its graph: it is deleted,
// released, or handed over to another graph. A deletion that is already in
// progress carries the message about its reason to wait.
func LiveRemoval(plan *applier.Plan, l applier.PlannedRemoval) objectdiff.Live {
	live := objectdiff.Live{Graph: plan.Owner.String(), Before: l.Live, Leaving: true}
	if l.Failure != nil {
		live.Refusal = l.Failure.Error()
	}
	message := ""
	switch {
	case l.NewOwner != nil:
		message = "is not deleted: it is handed over to graph " + l.NewOwner.String()
	case l.Kept != "":
		message = "is not deleted (" + l.Kept + "): it stays in the cluster without an owner"
	case l.Op == engine.Released:
		message = "is not deleted: it stays in the cluster without an owner"
	default:
		message = l.Message
	}
	if message != "" {
		live.Warnings = problem.List{{Severity: problem.Warning, Rule: objectdiff.RuleOrphan, Message: message}}
	}
	return live
}
