package run

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/execute"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/cli/progress"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/stored"
)

// applyOptions are the flags of apply. diff has the same prune, allow-empty and
// force-conflicts, so that it can show the effect of the same apply.
type applyOptions struct {
	// RenderFlags select the graphs: -f and the flags for rendering instances.
	input.RenderFlags
	// ConnectionFlags select the cluster and the user.
	kube.ConnectionFlags
	// RunFlags are --timeout, --wait and -o.
	execute.RunFlags
	// prune deletes objects that an earlier run applied and that left the graph.
	// It is on by default. The deletions start when every node is ready.
	prune bool
	// allowEmpty permits a graph without nodes, which prunes all of its objects.
	// It is a guard against a broken pipeline, and requires prune.
	allowEmpty bool
	// force is --force-conflicts: it takes over fields of other field managers in
	// all nodes, whatever their conflictPolicy.
	force bool
	// dryRun is one of execute.DryRunModes. "none", the default, applies the
	// graphs. The others print a plan, and exclude -o json.
	dryRun string
	// anyway is --force: it applies graphs that a controller in the cluster executes.
	anyway bool
}

// newApplyCommand returns the command "apply". It takes no arguments: a graph
// that exists only in the cluster is executed by the in-cluster applier.
func newApplyCommand(env command.Env) *cobra.Command {
	o := &applyOptions{}
	cmd := &cobra.Command{
		Use:   "apply -f FILENAME",
		Short: "Apply ResourceGraphs, or the graphs of instances, to a cluster",
		Long: `Apply graphs to a cluster: apply each object with server-side apply as soon as its
dependencies are ready, wait until everything is ready, and then prune the objects
that an earlier run applied and the graph no longer lists.

Documents that are ResourceGraphs are applied as they are; all others are rendered as
instances. Graphs are applied concurrently. The namespace of a graph is
metadata.namespace, or --namespace if that is empty, which is by default that of the
kubeconfig's context. The objects that a graph owns are
recorded there, in the ConfigMap pequod-inventory-GRAPH. If a run is interrupted, the
next one finishes its work.

An existing object that belongs to no graph is left alone unless the graph lists it in
spec.adopt. Fields of other field managers are conflicts. A conflict fails the node
unless its conflictPolicy or --force-conflicts allows taking them over.

Progress is written to stderr, and the outputs of the graphs to stdout. With -o json,
stdout is a stream of events instead, one JSON object per line: "node" or "object"
(time, graph, node, object, wave, phase, op, reason, message, blockedBy, taken,
drifted, attempts, nextAttempt) for each change, "warning" (message), and "result"
(phase, ready, error, trouble, elapsed, counts, nodes, outputs, unknown) at the end of
each graph.

A graph whose ResourceGraph pequod-applier or pequod-manager executes in the cluster is
refused, because the controller would undo the apply: change the ResourceGraph or the
instance in the cluster, or pause it with the label pequod.io/paused=true. --force is for
emergencies.

With --dry-run nothing is written. Stdout lists the effect on each object, and the
exit code is 0, or 1 if the API server would reject something.

The exit code is 0 if everything is ready; 1 if a node failed, something is not ready
in time, the input is invalid, or a controller executes one of the graphs; 2 if the
cluster could not be reached, another run
took over, or this run was interrupted. On an interrupt, requests in flight are
finished and recorded; a second interrupt exits at once.`,
		Example: `  # Render and apply an instance
  pequod apply -f app.yaml -p platforms/ -n shop

  # Apply rendered graphs
  pequod apply -f graphs/ --timeout 10m`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), env) },
	}
	o.RenderFlags.AddFlags(cmd)
	o.ConnectionFlags.AddFlags(cmd)
	o.RunFlags.AddFlags(cmd, "wait until everything is ready and pruned; otherwise exit when everything is applied")
	fl := cmd.Flags()
	o.AlsoGraphs(cmd)
	kube.FollowContext(cmd)
	fl.BoolVar(&o.prune, "prune", true, "when everything is ready, delete objects that the graph no longer lists")
	fl.BoolVar(&o.allowEmpty, "allow-empty", false, "allow a graph without nodes to delete everything that it owns")
	fl.BoolVar(&o.anyway, "force", false, "apply graphs that a controller in the cluster executes, which undoes the changes")
	fl.BoolVar(&o.force, "force-conflicts", false, "take over fields of other field managers")
	command.Choice(cmd, &o.dryRun, "dry-run", "", "none", execute.DryRunModes, "show what would be done without doing it: server (the API server checks every object) or client (only look up which objects exist)")
	return cmd
}

// run reads all graphs before it sends the first request, so that invalid input
// changes nothing in the cluster. The steps are:
//
//   - Check the flags, read and render the input, refuse graphs that can't be applied.
//   - Connect, and refuse graphs that a controller in the cluster executes.
//   - With --dry-run, print the plans and stop.
//   - Open the display of progress, and apply the graphs concurrently.
//   - Print summaries and outputs; the exit code is the highest of all graphs.
//
// Each graph gets the others as siblings: an object may move from one graph of
// the input to another in the same run.
func (o *applyOptions) run(ctx context.Context, env command.Env) error {
	if err := o.RunFlags.Validate(); err != nil {
		return err
	}
	if o.allowEmpty && !o.prune {
		return errors.New("--allow-empty requires --prune")
	}
	if o.dryRun != "none" && o.Output != "text" {
		return errors.New("--dry-run only supports -o text; for JSON use pequod diff")
	}
	o.DefaultNamespace(&o.Namespace)
	o.Modules.Options.ConfigMaps = o.ConfigMaps(kube.PrintWarnings(env.Err), o.Namespace)
	graphs, err := o.ReadGraphs(ctx, env)
	if err != nil {
		return err
	}
	if err := refuse(graphs); err != nil {
		return err
	}
	// Warnings of the API server go to stderr until the display of progress is open. It is not
	// opened before the graphs are accepted, because an error must leave the terminal alone.
	warned := kube.PrintWarnings(env.Err)
	a, err := o.Connect(func(text string) { warned(text) })
	if err != nil {
		return err
	}
	refused := o.refuseExecuted(ctx, a, graphs)
	if refused != nil && cluster.Unreachable(refused) == nil {
		return kube.Error(refused)
	}
	if o.dryRun != "none" {
		return o.runDry(ctx, env, a, graphs)
	}
	owners := make([]inventory.Owner, len(graphs))
	shown := make([]progress.Graph, len(graphs))
	siblings := make([]*v1alpha1.ResourceGraph, len(graphs))
	for i, g := range graphs {
		siblings[i] = g.ResourceGraph
		owners[i] = inventory.Owner{Namespace: g.Namespace, Name: g.Name}
		shown[i] = execute.ProgressGraph(g.ResourceGraph)
	}
	sink := o.OpenSink(env, shown)
	warned = sink.Warn
	ends := execute.RunEach(ctx, sink, progress.Apply, owners,
		func(ctx context.Context, i int, report func(applier.Event)) (*applier.Result, error) {
			if refused != nil { // the cluster can't be reached, which the display reports
				return nil, refused
			}
			opts := o.ApplierOptions()
			opts.Prune, opts.AllowEmpty, opts.ForceConflicts = o.prune, o.allowEmpty, o.force
			// The zero value corrects drift. With Report it is only shown.
			if graphs[i].Spec.DriftPolicy == v1alpha1.DriftReport {
				opts.Drift = engine.ReportDrift
			}
			opts.Siblings, opts.Report = siblings, report
			return a.Apply(ctx, graphs[i].ResourceGraph, opts)
		})
	return o.Finish(env, sink, ends)
}

// runDry prints the effects of an apply with the same flags. It opens no display,
// because the output has one line per object.
func (o *applyOptions) runDry(ctx context.Context, env command.Env, a *applier.Applier, graphs []input.Graph) error {
	var opts applier.PlanOptions
	opts.Prune, opts.AllowEmpty, opts.ForceConflicts = o.prune, o.allowEmpty, o.force
	return execute.DryRun(ctx, env, a, graphs, o.dryRun, opts)
}

// refuseExecuted returns a problem for each graph that a controller in the cluster executes. If
// there is one, none is applied.
func (o *applyOptions) refuseExecuted(ctx context.Context, a *applier.Applier, graphs []input.Graph) error {
	if o.anyway {
		return nil
	}
	owners := make([]inventory.Owner, len(graphs))
	for i, g := range graphs {
		owners[i] = inventory.Owner{Namespace: g.Namespace, Name: g.Name}
	}
	executed, err := executedGraphs(ctx, a, owners)
	var ps problem.List
	for i, rg := range executed {
		if rg != nil {
			ps = append(ps, problem.Problem{Position: graphs[i].Pos, Rule: problem.RuleGraph, Message: refuseApply(rg)})
		}
	}
	return cmp.Or(err, ps.Err())
}

// refuse returns a problem for each graph that is suspended, or whose objects are in another
// cluster. If there is one, none is applied: spec.suspend stops a graph on purpose, and an
// apply from here must not get around that.
func refuse(graphs []input.Graph) error {
	var ps problem.List
	for _, g := range graphs {
		if g.Spec.Suspend {
			ps = append(ps, problem.Problem{
				Position: g.Pos, Path: "spec.suspend", Rule: problem.RuleGraph,
				Message: "graph " + g.Namespace + "/" + g.Name + " is suspended",
			})
		}
		if err := stored.Refuse(g.ResourceGraph); err != nil {
			ps = append(ps, problem.Problem{Position: g.Pos, Path: "spec.kubeConfig", Rule: problem.RuleGraph, Message: err.Error()})
		}
	}
	return ps.Err()
}
