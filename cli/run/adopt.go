package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/execute"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/review"
	"github.com/pequod-io/pequod/review/text"
)

// adoptOptions are the flags of adopt.
type adoptOptions struct {
	// RenderFlags select the graphs: -f and the flags for rendering instances.
	input.RenderFlags
	// ConnectionFlags select the cluster and the user.
	kube.ConnectionFlags
	// strategy is written to spec.adopt: TakeOwnership, the default, or Mirror.
	// It doesn't change which objects are found.
	strategy string
	// from are inventories of other tools, as in "flux:apps/web". Only their objects
	// are listed.
	from []string
	// write puts the lists into the files of the graphs instead of printing them.
	write bool
}

// newAdoptCommand returns the command "adopt". It writes nothing to the cluster: a
// takeover must be part of the graph's own spec, where it is reviewed, and not an
// effect of a command.
func newAdoptCommand(env command.Env) *cobra.Command {
	o := &adoptOptions{}
	strategies := []string{string(v1alpha1.AdoptTakeOwnership), string(v1alpha1.AdoptMirror)}
	cmd := &cobra.Command{
		Use:   "adopt -f FILENAME [--from TOOL:NAMESPACE/NAME]",
		Short: "List the objects that a graph would have to adopt",
		Long: `List the objects of graphs that exist in the cluster and do not belong to the graphs:
as spec.adopt of a ResourceGraph, to paste or to merge. With --write, the list is added
to the file of the graph, which otherwise stays as it is. Nothing is written to the
cluster.

For each object, stderr shows the field managers and what a takeover would change. An
object that belongs to another graph is listed too, with a warning.

With --from, only objects are listed that another tool owns according to its inventory:

  flux:NAMESPACE/KUSTOMIZATION
  helm:NAMESPACE/RELEASE
  argocd:NAMESPACE/APPLICATION
  kapp:NAMESPACE/APP
  kpt:NAMESPACE/RESOURCEGROUP
  cli-utils:NAMESPACE/CONFIGMAP

Without NAMESPACE it is that of -n, and argocd for Argo CD. stderr then shows the fate of
every object of the inventory: those that no graph renders would be pruned by the tool
or left behind. It also shows objects of the graphs that the tool doesn't own.

The exit code is 0 if there is something to adopt, and with --from nothing of the
inventory is left behind; and 1 otherwise.`,
		Example: `  pequod adopt -f graph.yaml > adopt.yaml

  # Move a Helm release to a graph
  pequod adopt -f graph.yaml --from helm:shop/web --write`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), env) },
	}
	o.RenderFlags.AddFlags(cmd)
	o.ConnectionFlags.AddFlags(cmd)
	o.AlsoGraphs(cmd)
	kube.FollowContext(cmd)
	cmd.Flags().StringArrayVar(&o.from, "from", nil, "inventory of another tool, as TOOL:NAMESPACE/NAME: only its objects are listed; can be repeated")
	command.Must(cmd.RegisterFlagCompletionFunc("from", cobra.NoFileCompletions))
	cmd.Flags().BoolVar(&o.write, "write", false, "add the objects to spec.adopt in the files of the graphs")
	command.Choice(cmd, &o.strategy, "strategy", "", strategies[0], strategies, "adoption strategy: TakeOwnership (the graph manages the objects) or Mirror (the graph only observes them)")
	return cmd
}

// run plans the graphs as if they were allowed to adopt everything, and prints
// the objects that they would adopt. The list goes to stdout and the changes to
// stderr, so that the list can be redirected to a file. The list of one graph
// looks like this:
//
//	adopt:
//	  mode: Explicit
//	  strategy: TakeOwnership
//	  resources:
//	  - apiVersion: apps/v1
//	    kind: Deployment
//	    name: web
//
// Finding nothing is ExitNo. A node that couldn't be checked is ExitUnknown,
// because it may be an object to adopt.
func (o *adoptOptions) run(ctx context.Context, env command.Env) error {
	o.DefaultNamespace(&o.Namespace)
	sources, err := parseSources(o.from, o.Namespace)
	if err != nil {
		return err
	}
	if o.write && slices.Contains(o.Filenames, "-") {
		return errors.New("--write requires files; stdin can't be written")
	}
	graphs, err := o.ReadGraphs(ctx, env)
	if err != nil {
		return err
	}
	a, err := o.Connect(kube.PrintWarnings(env.Err))
	if err != nil {
		return err
	}
	asked := make([]input.Graph, len(graphs))
	for i, g := range graphs {
		asked[i] = g
		asked[i].ResourceGraph = adopting(g.ResourceGraph)
	}
	fallback := o.Fallback()
	plans, err := execute.PlanEach(ctx, a, asked, applier.PlanOptions{Fallback: fallback})
	if err != nil {
		return err
	}
	moves, err := o.compareWith(ctx, sources, plans)
	if err != nil {
		return err
	}
	// Everything is collected before anything is printed, so that an error doesn't
	// leave half of a list on stdout.
	var lists []adoptList
	// all are the objects that stay as they are, too.
	var objects, all []objectdiff.Live
	total := 0
	for _, plan := range plans {
		found := slices.DeleteFunc(slices.Clone(plan.Nodes), func(n applier.PlannedNode) bool {
			return !n.Adopts || len(moves) > 0 && !owns(moves, n.Key)
		})
		lists = append(lists, o.listOf(plan, found))
		total += len(found)
		for _, n := range found {
			objects = append(objects, adopted(plan, n))
		}
		for _, n := range plan.Nodes {
			all = append(all, execute.LiveNode(plan, n))
		}
	}
	var head review.Tree
	for _, g := range asked {
		head.Units = append(head.Units, g.Unit())
	}
	d, consequences, err := execute.LiveChanges(objects, all)
	if err != nil {
		return err
	}
	r := review.NewApply(review.Side{}, head, nil, d, consequences)
	if err := text.WriteChanges(env.Err, r, style.Painter{Color: style.Colored(env.Err)}.Sign); err != nil {
		return command.OutputError(err)
	}
	kube.PrintFallback(env.Err, fallback)
	complete := true
	for _, m := range moves {
		complete = complete && m.complete
		if err := m.print(env.Err); err != nil {
			return command.OutputError(err)
		}
	}
	if o.write {
		err = o.writeFiles(env, graphs, plans, lists)
	} else {
		err = printLists(env.Out, plans, lists)
	}
	if err != nil {
		return err
	}
	// A node that couldn't be checked may be an object to adopt. Other failures
	// don't matter here.
	code := execute.PrintObstacles(env.Err, plans, func(n applier.PlannedNode) bool { return execute.NodeExitCode(n) == command.ExitUnknown })
	switch {
	case code == command.ExitUnknown:
		return command.ExitError{Code: code}
	case total == 0:
		fmt.Fprintln(env.Err, "pequod: nothing to adopt")
		return command.ExitError{Code: command.ExitNo}
	case !complete:
		return command.ExitError{Code: command.ExitNo}
	}
	return nil
}

// adopting returns a copy of a graph that may adopt all objects of its nodes. It
// replaces the graph's own spec.adopt: an object is found whether or not it is
// listed there already. Nodes without a resource of their own are left out.
func adopting(rg *v1alpha1.ResourceGraph) *v1alpha1.ResourceGraph {
	rg = rg.DeepCopy()
	adopt := &v1alpha1.Adopt{Mode: v1alpha1.AdoptExplicit, Strategy: v1alpha1.AdoptTakeOwnership}
	for _, n := range graph.Read(rg).Nodes {
		if n.Resource != nil {
			adopt.Resources = append(adopt.Resources, n.Object)
		}
	}
	rg.Spec.Adopt = adopt
	return rg
}

// adoptList is spec.adopt with its fields in their usual order. The types of the
// API would be printed with sorted keys.
type adoptList struct {
	Adopt struct {
		// Mode is always Explicit: the list names each object.
		Mode      v1alpha1.AdoptMode `yaml:"mode"`
		Strategy  string             `yaml:"strategy"`
		Resources []adoptRef         `yaml:"resources"`
	} `yaml:"adopt"`
}

// adoptRef refers to one object, as v1alpha1.ObjectRef does.
type adoptRef struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	// Namespace is empty for cluster-scoped objects and for objects in the
	// namespace of the graph.
	Namespace string `yaml:"namespace,omitempty"`
	Name      string `yaml:"name"`
}

// listOf returns spec.adopt for the objects found. It leaves out the namespace of the
// graph itself.
func (o *adoptOptions) listOf(plan *applier.Plan, found []applier.PlannedNode) adoptList {
	var list adoptList
	list.Adopt.Mode, list.Adopt.Strategy = v1alpha1.AdoptExplicit, o.strategy
	for _, n := range found {
		ref := adoptRef{
			APIVersion: schema.GroupVersion{Group: n.Key.Group, Version: n.Version}.String(),
			Kind:       n.Key.Kind, Name: n.Key.Name,
		}
		if n.Key.Namespace != plan.Owner.Namespace {
			ref.Namespace = n.Key.Namespace
		}
		list.Adopt.Resources = append(list.Adopt.Resources, ref)
	}
	return list
}

// printLists writes the lists of the graphs that have objects to adopt. Each graph has
// its own spec.adopt, so each list is a YAML document. A comment names the graph if
// there are several.
func printLists(w io.Writer, plans []*applier.Plan, lists []adoptList) error {
	var out bytes.Buffer
	for i, list := range lists {
		if len(list.Adopt.Resources) == 0 {
			continue
		}
		if out.Len() > 0 {
			out.WriteString("---\n")
		}
		if len(plans) > 1 {
			fmt.Fprintf(&out, "# graph %s\n", plans[i].Owner)
		}
		fmt.Fprintf(&out, "adopt:\n  mode: %s\n  strategy: %s\n  resources:\n", list.Adopt.Mode, list.Adopt.Strategy)
		for _, line := range items(list.Adopt.Resources, "  ") {
			out.WriteString(line + "\n")
		}
	}
	_, err := w.Write(out.Bytes())
	return command.OutputError(err)
}

// writeFiles adds the lists to the files of their graphs.
func (o *adoptOptions) writeFiles(env command.Env, graphs []input.Graph, plans []*applier.Plan, lists []adoptList) error {
	for i, list := range lists {
		if len(list.Adopt.Resources) == 0 {
			continue
		}
		file := graphs[i].Pos.File
		added, err := addToFile(file, plans[i].Owner, o.Namespace, list)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		fmt.Fprintf(env.Err, "pequod: %s: added %d to spec.adopt of graph %s\n", file, added, plans[i].Owner)
	}
	return nil
}

// adopted returns the changes of a takeover, with notes about the managers and
// the graph that own the object now. n must be a node that the plan adopts, so
// n.Live is not nil.
func adopted(plan *applier.Plan, n applier.PlannedNode) objectdiff.Live {
	l := execute.LiveNode(plan, n)
	// The warnings of a plan announce the takeover itself, and it is the reason
	// for this command. The notes below replace them.
	l.Warnings = nil
	note := func(format string, args ...any) {
		l.Warnings = append(l.Warnings, problem.Problem{Severity: problem.Warning, Rule: objectdiff.RuleTaken, Message: fmt.Sprintf(format, args...)})
	}
	var managers []string
	// Managers of a subresource, such as status, keep their fields.
	for _, entry := range n.Live.GetManagedFields() {
		if entry.Subresource == "" && !slices.Contains(managers, entry.Manager) {
			managers = append(managers, entry.Manager)
		}
	}
	if len(managers) > 0 {
		note("its fields are owned by %s", strings.Join(managers, ", "))
	}
	if n.PreviousOwner != nil {
		note("it belongs to graph %s, which would lose it", n.PreviousOwner)
	}
	return l
}
