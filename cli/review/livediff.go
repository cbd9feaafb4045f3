package review

import (
	"context"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/execute"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/review/forecast"
)

// runLive compares graphs with a cluster: it plans their apply, with the same
// flags, and prints the changes of the plans. The API server validates each
// change as a dry run; without the right to send dry runs, the changes are computed
// here. The exit code is 1 if there are changes, and higher if an apply would fail
// without a certain answer.
func (o *diffOptions) runLive(ctx context.Context, env command.Env) error {
	o.Modules.Options.ConfigMaps = o.ConfigMaps(kube.PrintWarnings(env.Err), o.Namespace)
	graphs, err := o.ReadGraphs(ctx, env)
	if err != nil {
		return err
	}
	a, err := o.Connect(kube.PrintWarnings(env.Err))
	if err != nil {
		return err
	}
	var opts applier.PlanOptions
	opts.Prune, opts.AllowEmpty, opts.ForceConflicts = o.prune, o.allowEmpty, o.force
	opts.Fallback = o.Fallback()
	plans, err := execute.PlanEach(ctx, a, graphs, opts)
	if err != nil {
		return err
	}
	d, err := liveDiff(plans)
	if err != nil {
		return err
	}
	if err := o.write(env.Out, d); err != nil {
		return command.OutputError(err)
	}
	kube.PrintFallback(env.Err, opts.Fallback)
	code := command.ExitOK
	if len(d.Objects) > 0 {
		code = command.ExitNo
	}
	return command.ExitWith(max(code, execute.PrintObstacles(env.Err, plans, func(n applier.PlannedNode) bool {
		// These nodes are not part of the difference, so only the obstacle
		// tells about them. The others show it as a warning.
		return n.Live == nil && n.Object == nil || n.Op == engine.Observed
	})))
}

// liveDiff returns the changes of plans as a difference of objects: nodes that an
// apply would change, and objects that it would remove or release. Unchanged
// nodes, and those that the graph only observes, are left out, but count for the
// consequences of the others.
func liveDiff(plans []*applier.Plan) (objectdiff.Diff, error) {
	var changed, all []objectdiff.Live
	for _, plan := range plans {
		for _, n := range plan.Nodes {
			live := execute.LiveNode(plan, n)
			all = append(all, live)
			if n.Op != engine.Unchanged && n.Op != engine.Observed {
				changed = append(changed, live)
			}
		}
		for _, l := range plan.Removals {
			live := removal(plan, l)
			all, changed = append(all, live), append(changed, live)
		}
	}
	d, err := objectdiff.CompareLive(changed)
	if err != nil {
		return d, err
	}
	before, after, err := objectdiff.LiveSides(all)
	if err != nil {
		return d, err
	}
	forecast.Warn(&d, forecast.OfLive(d, before, after))
	return d, nil
}

// removal returns the change of an object that leaves its graph: it is deleted,
// released, or handed over to another graph. A deletion that is already in
// progress carries the message about its reason to wait.
func removal(plan *applier.Plan, l applier.PlannedRemoval) objectdiff.Live {
	live := objectdiff.Live{Graph: plan.Owner.String(), Before: l.Live, Leaving: true}
	if l.Failure != nil {
		live.Refusal = l.Failure.Message
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
