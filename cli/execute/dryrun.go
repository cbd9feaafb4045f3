package execute

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/inventory"
)

// DryRunModes are the values of --dry-run, the same as in kubectl. "none" is the
// default of every command.
var DryRunModes = []string{"none", "server", "client"}

// DryRun prints the effects of an apply of graphs without writing to the cluster,
// one line per object in the form of kubectl:
//
//	configmap/web created (server dry run)
//	deployment.apps/web configured (server dry run)
//	service/old -n shop pruned (server dry run)
//
// mode is one of [DryRunModes], but not "none": with "server" the API server
// validates each object, with "client" it is only asked which objects exist. The
// error is the exit code if an apply would fail. Drift is reported instead of
// corrected only for graphs with that driftPolicy; see [PlanEach].
func DryRun(ctx context.Context, env command.Env, a *applier.Applier, graphs []input.Graph, mode string, o applier.PlanOptions) error {
	o.NoDryRun, o.Drift = mode == "client", engine.ReportDrift
	plans, err := PlanEach(ctx, a, graphs, o)
	switch {
	case errors.Is(err, engine.ErrEmpty):
		return command.ExitError{Code: command.ExitNo, Causes: []error{err}} // the exit code of the apply
	case err != nil:
		return err
	}
	var b strings.Builder
	for _, plan := range plans {
		writePlan(&b, plan, "pruned", mode)
	}
	if _, err := io.WriteString(env.Out, b.String()); err != nil {
		return command.OutputError(err)
	}
	return command.ExitWith(PrintObstacles(env.Err, plans, func(applier.PlannedNode) bool { return true }))
}

// DryRunDelete is [DryRun] for the deletion of graphs. A graph that owns nothing is
// named on stderr.
func DryRunDelete(ctx context.Context, env command.Env, a *applier.Applier, graphs []inventory.Owner, mode string, o applier.PlanOptions) error {
	o.NoDryRun = mode == "client"
	var b strings.Builder
	plans := make([]*applier.Plan, len(graphs))
	var incomplete []error
	for i, owner := range graphs {
		var err error
		switch plans[i], err = a.PlanDelete(ctx, owner, o); {
		case plans[i] == nil:
			return kube.Error(err)
		case err != nil:
			incomplete = append(incomplete, kube.Error(err))
		case len(plans[i].Removals) == 0:
			fmt.Fprintf(env.Err, "%s: nothing to delete\n", owner)
		}
		writePlan(&b, plans[i], "deleted", mode)
	}
	if _, err := io.WriteString(env.Out, b.String()); err != nil {
		return command.OutputError(err)
	}
	if len(incomplete) > 0 {
		return errors.Join(incomplete...)
	}
	return command.ExitWith(PrintObstacles(env.Err, plans, func(applier.PlannedNode) bool { return true }))
}

// writePlan writes one line per planned change, by wave, and then the removals; the
// word removed says that an object is deleted. The namespace is shown only if it
// differs from the namespace of the graph.
func writePlan(b *strings.Builder, plan *applier.Plan, removed, mode string) {
	line := func(group, kind, namespace, name, what string) {
		if namespace != "" && namespace != plan.Owner.Namespace {
			name += " -n " + namespace
		}
		fmt.Fprintf(b, "%s %s (%s dry run)\n", kube.ResourceName(group, kind, name), what, mode)
	}
	// The sort is stable, so nodes of one wave keep the order of the graph.
	nodes := slices.Clone(plan.Nodes)
	slices.SortStableFunc(nodes, func(x, y applier.PlannedNode) int { return cmp.Compare(x.Wave, y.Wave) })
	// Nodes that can't be applied are obstacles, which stderr lists. Observed nodes
	// are never written.
	for _, n := range nodes {
		if n.Failure == nil && n.WaitReason == "" && n.Op != engine.Observed {
			line(n.Key.Group, n.Key.Kind, n.Key.Namespace, n.Key.Name, string(n.Op))
		}
	}
	for _, l := range plan.Removals {
		what := removed
		switch {
		case l.Failure != nil && l.Live == nil:
			continue // an obstacle, too
		case l.Failure != nil:
			what = "not " + removed + ": " + source.Escape(l.Failure.Error(), "")
		case l.NewOwner != nil:
			what = "handed over to graph " + l.NewOwner.String()
		case l.Kept != "":
			what = "released: " + source.Escape(l.Kept, "")
		case l.Op == engine.Released:
			what = "released"
		}
		line(l.Key.Group, l.Key.Kind, l.Key.Namespace, l.Key.Name, what)
	}
}
