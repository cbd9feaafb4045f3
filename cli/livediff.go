package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/cli/objectdiff"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
)

// runLive compares graphs with a cluster.
func (o *diffOptions) runLive(ctx context.Context, s streams) error {
	graphs, err := o.graphs(ctx, s)
	if err != nil {
		return err
	}
	a, err := o.connect(warnTo(s.err))
	if err != nil {
		return err
	}
	var opts applier.PlanOptions
	opts.Prune, opts.AllowEmpty, opts.ForceConflicts = o.prune, o.allowEmpty, o.force
	plans, err := planEach(ctx, a, graphs, opts)
	if err != nil {
		return err
	}
	d, err := liveDiff(plans)
	if err != nil {
		return err
	}
	if err := o.write(s.out, d); err != nil {
		return outputError(err)
	}
	code := exitYes
	if len(d.Objects) > 0 {
		code = exitNo
	}
	return saidCode(max(code, printObstacles(s.err, plans, func(n applier.PlannedNode) bool {
		return n.Live == nil && n.Object == nil || n.Op == engine.Observed
	})))
}

// saidCode is the error for an exit code whose reason was printed.
func saidCode(code int) error {
	if code == exitYes {
		return nil
	}
	return saidError{code}
}

// planEach plans graphs beside each other, and gives the plans in their order.
// With o.Drift, graphs whose policy says so leave drift as it is.
func planEach(ctx context.Context, a *applier.Applier, graphs []givenGraph, o applier.PlanOptions) ([]*applier.Plan, error) {
	plans := make([]*applier.Plan, len(graphs))
	for _, rg := range graphs {
		o.Siblings = append(o.Siblings, rg.ResourceGraph)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(graphsAtOnce)
	for i, rg := range graphs {
		g.Go(func() (err error) {
			opts := o
			if rg.Spec.DriftPolicy != v1alpha1.DriftReport {
				opts.Drift = engine.CorrectDrift
			}
			plans[i], err = a.Plan(ctx, rg.ResourceGraph, opts)
			return graphError(rg.ResourceGraph, err)
		})
	}
	return plans, g.Wait()
}

// graphError says of which graph an error is, unless it is the cluster's.
func graphError(rg *v1alpha1.ResourceGraph, err error) error {
	if err == nil {
		return nil
	}
	if plain := clusterError(err); plain.Error() != err.Error() {
		return plain
	}
	if errors.Is(err, engine.ErrEmpty) {
		err = fmt.Errorf("%w; allow it with --allow-empty", err)
	}
	return fmt.Errorf("graph %s/%s: %w", rg.Namespace, rg.Name, err)
}

// liveDiff gives what plans change, as the differences of objects.
func liveDiff(plans []*applier.Plan) (objectdiff.Diff, error) {
	var objects []objectdiff.Live
	for _, plan := range plans {
		for _, n := range plan.Nodes {
			if n.Op != engine.Unchanged && n.Op != engine.Observed {
				objects = append(objects, liveNode(plan, n))
			}
		}
		for _, l := range plan.Removals {
			objects = append(objects, liveLeaving(plan, l))
		}
	}
	return objectdiff.CompareLive(objects)
}

func liveNode(plan *applier.Plan, n applier.PlannedNode) objectdiff.Live {
	l := objectdiff.Live{
		Graph: plan.Owner.String(), Before: n.Live, After: n.Object, Manager: n.Manager,
		Corrects: n.Op == engine.Corrected, Replaces: n.Op == engine.Recreated, Refusal: refusal(n),
	}
	for _, u := range n.Unknown {
		l.Unknown = append(l.Unknown, reference.Path(u.Path))
	}
	note := func(rule, path, format string, args ...any) {
		l.Notes = append(l.Notes, problem.Problem{Severity: problem.Warning, Rule: rule, Path: path, Message: fmt.Sprintf(format, args...)})
	}
	switch {
	case n.RecreateReason != "":
		note(objectdiff.RuleImmutable, "", "%s", n.RecreateReason)
	case n.Unchecked != "" && len(n.Unknown) == 0:
		note(objectdiff.RuleUnchecked, "", "isn't checked: %s", n.Unchecked)
	}
	switch {
	case n.Op == engine.Adopted && n.PreviousOwner != nil:
		note(objectdiff.RuleTaken, "", "is taken from graph %s", n.PreviousOwner)
	case n.Op == engine.Adopted:
		note(objectdiff.RuleTaken, "", "exists already, and is taken over")
	}
	if n.Op != engine.Corrected {
		for _, c := range n.Taken {
			note(objectdiff.RuleTaken, c.Field, "taken from %s", c.Manager)
		}
	}
	return l
}

// refusal is what keeps a node from being applied, "" if nothing does.
func refusal(n applier.PlannedNode) string {
	switch {
	case n.Failure == nil:
		return n.WaitReason
	case n.Failure.Reason == engine.ReasonConflict:
		return n.Failure.Message + "; apply takes it with --force-conflicts"
	}
	return n.Failure.Message
}

func liveLeaving(plan *applier.Plan, l applier.PlannedRemoval) objectdiff.Live {
	live := objectdiff.Live{Graph: plan.Owner.String(), Before: l.Live, Leaves: true}
	if l.Failure != nil {
		live.Refusal = l.Failure.Message
	}
	message := ""
	switch {
	case l.NewOwner != nil:
		message = "is not deleted: it goes over to graph " + l.NewOwner.String()
	case l.Op == engine.Released:
		message = "is not deleted: it stays in the cluster without an owner"
	default:
		message = l.Message
	}
	if message != "" {
		live.Notes = problem.List{{Severity: problem.Warning, Rule: objectdiff.RuleOrphan, Message: message}}
	}
	return live
}

// printObstacles prints what an apply would fail of or wait for, of the nodes
// that are chosen, and gives the exit code for what is in the way of any.
func printObstacles(w io.Writer, plans []*applier.Plan, chosen func(applier.PlannedNode) bool) int {
	code := exitYes
	for _, plan := range plans {
		for _, n := range plan.Nodes {
			code = max(code, obstacle(n))
			text := n.WaitReason
			if n.Failure != nil {
				text = n.Failure.Message
			}
			if text != "" && chosen(n) {
				fmt.Fprintln(w, source.Escape(fmt.Sprintf("pequod: graph %s: node %s: %s", plan.Owner, n.ID, text), ""))
			}
		}
		for _, l := range plan.Removals {
			if l.Failure != nil {
				code = max(code, failureCode(l.Failure))
			}
		}
	}
	return code
}

// obstacle is the exit code for what is in the way of a node. That something
// else has to come first is none.
func obstacle(n applier.PlannedNode) int {
	if n.Failure == nil {
		return exitYes
	}
	return failureCode(n.Failure)
}

// failureCode tells what was refused from what couldn't be asked.
func failureCode(f *engine.Failure) int {
	switch f.Reason {
	case engine.ReasonForbidden, engine.ReasonWebhookFailed, engine.ReasonApplyFailed:
		return exitNoAnswer
	}
	return exitNo
}
