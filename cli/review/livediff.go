package review

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/execute"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/review"
)

// runLive compares graphs with a cluster: it plans their apply, with the same
// flags, and prints the changes of the plans. The API server validates each
// change as a dry run; without the right to send dry runs, the changes are computed
// here. The exit code is 1 if there are changes, and higher if an apply would fail
// without a certain answer.
//
// names has the name of a graph in the cluster whose ResourceGraph is compared, or nothing for the
// files of -f.
func (o *diffOptions) runLive(ctx context.Context, env command.Env, names []string) error {
	o.DefaultNamespace(&o.Namespace)
	head := review.Tree{Side: review.Side{Name: "apply of " + strings.Join(o.Filenames, ", "), AsIs: true}}
	var graphs []input.Graph
	var err error
	o.Modules.Options.ConfigMaps = o.ConfigMaps(kube.PrintWarnings(env.Err), o.Namespace)
	if o.Confined() {
		if err := o.Confine(ctx, o.Room(ctx), &o.RenderFlags); err != nil {
			return err
		}
	}
	if len(names) == 0 {
		if graphs, err = o.ReadGraphs(ctx, env); err != nil {
			return err
		}
	}
	a, err := o.Connect(kube.PrintWarnings(env.Err))
	if err != nil {
		return err
	}
	if len(names) > 0 {
		rg, err := o.storedGraph(ctx, a, names[0])
		if err != nil {
			return err
		}
		head.Name = "apply of ResourceGraph " + rg.Namespace + "/" + rg.Name
		graphs = []input.Graph{{ResourceGraph: rg}}
	}
	for _, g := range graphs {
		head.Units = append(head.Units, g.Unit())
	}
	var opts applier.PlanOptions
	opts.Prune, opts.AllowEmpty, opts.ForceConflicts = o.prune, o.allowEmpty, o.force
	opts.Fallback = o.Fallback()
	plans, err := execute.PlanEach(ctx, a, graphs, opts)
	if err != nil {
		return err
	}
	removed, removals, err := o.planRemovals(ctx, a, graphs, opts)
	if err != nil {
		return err
	}
	plans = append(plans, removals...)
	d, consequences, err := execute.LiveDiff(plans)
	if err != nil {
		return err
	}
	r := review.NewApply(review.Side{Name: "cluster", AsIs: true}, head, removed, d, consequences)
	if err := o.write(env.Out, r); err != nil {
		return command.OutputError(err)
	}
	kube.PrintFallback(env.Err, opts.Fallback)
	return command.ExitWith(max(differenceCode(r), execute.PrintObstacles(env.Err, plans, func(n applier.PlannedNode) bool {
		// These nodes are not part of the difference, so only the obstacle
		// tells about them. The others show it as a warning.
		return n.Live == nil && n.Object == nil || n.Op == engine.Observed
	})))
}

// storedGraph returns the ResourceGraph in the cluster that a name leads to.
func (o *diffOptions) storedGraph(ctx context.Context, a *applier.Applier, name string) (*v1alpha1.ResourceGraph, error) {
	owner, err := o.Graph(ctx, a, name, o.Namespace)
	if err != nil {
		return nil, err
	}
	rg, err := a.StoredGraph(ctx, owner)
	if err == nil && rg == nil {
		err = fmt.Errorf("graph %s: the cluster has no ResourceGraph of this name; compare its files with -f", owner)
	}
	return rg, kube.Error(err)
}

// planRemovals plans the deletion of the graphs of --selector that the files don't have. It looks
// in --namespace and in the namespaces of the files' graphs.
func (o *diffOptions) planRemovals(ctx context.Context, a *applier.Applier, graphs []input.Graph, opts applier.PlanOptions) (removed []review.Unit, plans []*applier.Plan, err error) {
	if o.selected == nil {
		return nil, nil, nil
	}
	namespaces := []string{o.Namespace}
	known := map[inventory.Owner]bool{}
	for _, g := range graphs {
		known[inventory.Owner{Namespace: g.Namespace, Name: g.Name}] = true
		opts.Siblings = append(opts.Siblings, g.ResourceGraph)
		if !slices.Contains(namespaces, g.Namespace) {
			namespaces = append(namespaces, g.Namespace)
		}
	}
	slices.Sort(namespaces)
	for _, namespace := range namespaces {
		stored, err := o.storedIn(ctx, a, namespace)
		if err != nil {
			return nil, nil, kube.Error(err)
		}
		for _, rg := range stored {
			owner := inventory.Owner{Namespace: rg.Namespace, Name: rg.Name}
			if known[owner] {
				continue
			}
			plan, err := a.PlanDelete(ctx, owner, opts)
			if err != nil {
				return nil, nil, execute.GraphError(rg, err)
			}
			removed, plans = append(removed, input.Graph{ResourceGraph: rg}.Unit()), append(plans, plan)
		}
	}
	return removed, plans, nil
}

// storedIn returns the graphs of a namespace that --selector selects. A graph that only 'pequod
// apply' has executed has no labels, and nothing but its name is known of it.
func (o *diffOptions) storedIn(ctx context.Context, a *applier.Applier, namespace string) ([]*v1alpha1.ResourceGraph, error) {
	stored, err := a.StoredGraphs(ctx, namespace)
	if err != nil {
		return nil, err
	}
	inventories, err := a.Inventories.List(ctx, namespace)
	if err != nil {
		return nil, err
	}
	for _, inv := range inventories {
		if !slices.ContainsFunc(stored, func(rg *v1alpha1.ResourceGraph) bool { return rg.Name == inv.Owner.Name }) {
			rg := &v1alpha1.ResourceGraph{}
			rg.Namespace, rg.Name = inv.Owner.Namespace, inv.Owner.Name
			stored = append(stored, rg)
		}
	}
	return slices.DeleteFunc(stored, func(rg *v1alpha1.ResourceGraph) bool { return !o.selected.Matches(labels.Set(rg.Labels)) }), nil
}
