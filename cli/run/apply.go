package run

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/execute"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/cli/progress"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/inventory"
)

type applyOptions struct {
	input.RenderFlags
	kube.ConnectionFlags
	execute.RunFlags
	prune, allowEmpty, force bool
	dryRun                   string
}

func newApplyCommand(env command.Env) *cobra.Command {
	o := &applyOptions{}
	cmd := &cobra.Command{
		Use:   "apply -f FILENAME",
		Short: "Execute ResourceGraphs, or the graphs of instances, in a cluster",
		Long: `Execute graphs in a cluster: apply each object by server-side apply when everything
that it needs is ready, wait until all are ready, and then remove what an earlier
run applied and the graph no longer lists.

Documents that are ResourceGraphs are executed as they are; all others are taken
for instances and rendered. The graphs are executed at the same time. A graph lies
in metadata.namespace, else in that of --namespace, and what it owns is recorded
there, in a ConfigMap named pequod-inventory-GRAPH. A run that is stopped is
finished by the next.

An object that exists and belongs to no graph isn't touched unless the graph
lists it in spec.adopt. Fields that another manager holds are a conflict, which
fails the node, unless its conflictPolicy or --force-conflicts says to take them.

Progress goes to stderr, outputs of the graph to stdout. With -o json stdout gets
events instead, one JSON object a line: of type "node" or "object" (time, graph,
node, object, wave, phase, op, reason, message, blockedBy, taken, drifted, attempts,
nextAttempt) for each change, "warning" (message), and at the end of each graph
"result" (phase, ready, error, trouble, elapsed, counts, nodes, outputs, unknown).

With --dry-run nothing is written: stdout says of each object what would become of
it, and the exit code is 0, or 1 if the API server would refuse something.

The exit code is 0 if everything is ready; 1 if a node failed, isn't ready in time,
or the input is wrong; 2 if the cluster couldn't be asked, another run took over,
or this one was interrupted. An interrupt lets requests under way finish and
records them; a second one ends at once.`,
		Example: `  # An instance, rendered on the way
  pequod apply -f app.yaml -p platforms/ -n shop

  # Graphs that were rendered before
  pequod apply -f graphs/ --timeout 10m`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), env) },
	}
	o.RenderFlags.AddFlags(cmd)
	o.ConnectionFlags.AddFlags(cmd)
	o.RunFlags.AddFlags(cmd, "wait until everything is ready and what left the graph is gone; otherwise end when everything is applied")
	fl := cmd.Flags()
	fl.Lookup("filename").Usage = "ResourceGraphs and instances: a YAML or JSON file, a directory, or - for stdin; repeatable"
	fl.Lookup("namespace").Usage = "namespace of graphs and instances that name none"
	fl.BoolVar(&o.prune, "prune", true, "remove what the graph no longer lists, when everything is ready")
	fl.BoolVar(&o.allowEmpty, "allow-empty", false, "let a graph without nodes remove everything that it owns")
	fl.BoolVar(&o.force, "force-conflicts", false, "take fields that other managers hold")
	fl.StringVar(&o.dryRun, "dry-run", "none", "say what would be done, and do nothing: server (the API server checks every object) or client (it is only asked what exists)")
	command.Must(cmd.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions(execute.DryRunModes, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

func (o *applyOptions) run(ctx context.Context, env command.Env) error {
	if err := o.RunFlags.Validate(); err != nil {
		return err
	}
	if o.allowEmpty && !o.prune {
		return errors.New("--allow-empty goes with --prune")
	}
	if err := command.OneOf("--dry-run", o.dryRun, execute.DryRunModes); err != nil {
		return err
	}
	if o.dryRun != "none" && o.Output != "text" {
		return errors.New("--dry-run prints text; for JSON see pequod diff")
	}
	graphs, err := o.ReadGraphs(ctx, env)
	if err != nil {
		return err
	}
	if err := refuseSuspended(graphs); err != nil {
		return err
	}
	if o.dryRun != "none" {
		return o.runDry(ctx, env, graphs)
	}
	owners := make([]inventory.Owner, len(graphs))
	shown := make([]progress.Graph, len(graphs))
	siblings := make([]*v1alpha1.ResourceGraph, len(graphs))
	for i, g := range graphs {
		siblings[i] = g.ResourceGraph
		owners[i] = inventory.Owner{Namespace: g.Namespace, Name: g.Name}
		shown[i] = execute.ProgressGraph(g.ResourceGraph)
	}
	var sink progress.Sink
	a, err := o.Connect(func(text string) { sink.Warn(text) })
	if err != nil {
		return err
	}
	sink = o.OpenSink(env, shown) // before the first request
	ends := execute.RunEach(ctx, sink, progress.Apply, owners,
		func(ctx context.Context, i int, report func(applier.Event)) (*applier.Result, error) {
			opts := o.ApplierOptions()
			opts.Prune, opts.AllowEmpty, opts.ForceConflicts = o.prune, o.allowEmpty, o.force
			if graphs[i].Spec.DriftPolicy == v1alpha1.DriftReport {
				opts.Drift = engine.ReportDrift
			}
			opts.Siblings, opts.Report = siblings, report
			return a.Apply(ctx, graphs[i].ResourceGraph, opts)
		})
	return o.Finish(env, sink, ends)
}

// runDry says what would be done.
func (o *applyOptions) runDry(ctx context.Context, env command.Env, graphs []input.Graph) error {
	a, err := o.Connect(kube.PrintWarnings(env.Err))
	if err != nil {
		return err
	}
	var opts applier.PlanOptions
	opts.Prune, opts.AllowEmpty, opts.ForceConflicts = o.prune, o.allowEmpty, o.force
	return execute.DryRun(ctx, env, a, graphs, o.dryRun, opts)
}

// refuseSuspended holds back graphs whose spec says that they aren't executed.
func refuseSuspended(graphs []input.Graph) error {
	var ps problem.List
	for _, g := range graphs {
		if g.Spec.Suspend {
			ps = append(ps, problem.Problem{
				Position: g.Pos, Path: "spec.suspend", Rule: problem.RuleGraph,
				Message: "graph " + g.Namespace + "/" + g.Name + " is suspended",
			})
		}
	}
	if len(ps) > 0 {
		return ps
	}
	return nil
}
