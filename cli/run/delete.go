package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/execute"
	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/cli/progress"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/render"
)

// deleteOptions are the flags of delete.
type deleteOptions struct {
	// FileFlags select the graphs by files, and the namespace of named graphs.
	// There is no -p: instances are not rendered, only their names are read.
	input.FileFlags
	// ConnectionFlags select the cluster and the user.
	kube.ConnectionFlags
	// RunFlags are --timeout, --wait and -o.
	execute.RunFlags
	// cascade is the propagation policy of every deletion, one of cascades. The
	// default is foreground, unlike kubectl's background: the order of deletion
	// holds only if an object stays until its dependents are gone.
	cascade string
	// orphan releases all objects instead of deleting them, regardless of
	// deletionPolicy. cascade then has no effect.
	orphan bool
	// dryRun is one of execute.DryRunModes.
	dryRun string
	// force deletes the objects of graphs that a controller in the cluster executes.
	force bool
	// yes deletes the ResourceGraph of such a graph without a prompt.
	yes bool
}

// cascades are the values of --cascade, the same as in kubectl.
var cascades = []string{"foreground", "background", "orphan"}

// propagations are the policies that the values of --cascade stand for.
var propagations = map[string]cluster.Propagation{
	"foreground": cluster.Foreground, "background": cluster.Background, "orphan": cluster.Orphan,
}

// newDeleteCommand returns the command "delete". Completion of names lists the
// inventories of the namespace, so it needs the cluster.
func newDeleteCommand(env command.Env) *cobra.Command {
	o := &deleteOptions{}
	cmd := &cobra.Command{
		Use:   "delete (NAME ... | KIND/NAME ... | -f FILENAME)",
		Short: "Delete everything that graphs own from a cluster",
		Long: `Delete everything that graphs own from a cluster, in reverse order: an object is
deleted when all objects that depend on it are gone. The inventory in the cluster
lists what a graph owns. Files only name the graph, so an instance needs no platform
here. If the inventory is lost, the objects are found by their labels.

A graph is named by NAME and --namespace, by its own document, or by its instance. NAME is
that of the graph or of its instance, or KIND/NAME of the instance or of an object of the graph.
Objects with deletionPolicy Orphan, by default PersistentVolumeClaims, Namespaces and
CustomResourceDefinitions, stay in the cluster and are released: they lose the labels
and the field ownership of the graph. The same holds for objects that are annotated to
be kept, for example with helm.sh/resource-policy: keep. With --orphan all objects are
released.

A graph whose ResourceGraph pequod-applier executes in the cluster is not deleted from
here, because the applier would create the objects again. On a terminal, the command
offers to delete the ResourceGraph instead, and --yes does it without a prompt: the
applier then deletes the objects. If pequod-manager executes the graph, delete its
instance. --force is for emergencies.

With --dry-run nothing is written. Stdout lists the effect on each object, and the
exit code is 0, or 1 if the API server would reject something.

By default objects are deleted in the foreground: a Deployment is gone only when its
Pods are, so that objects that the Pods need outlive them.

The exit code is 0 if everything is gone or nothing existed; 1 if something is not gone
in time or cannot be deleted, or if a controller executes one of the graphs; 2 if the
cluster could not be reached.`,
		Example: `  pequod delete -f app.yaml -n shop
  pequod delete web -n shop --timeout 10m`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), env, args) },
	}
	o.FileFlags.AddFlags(cmd)
	o.ConnectionFlags.AddFlags(cmd)
	o.RunFlags.AddFlags(cmd, "wait until everything is gone; otherwise exit when all deletions are requested")
	fl := cmd.Flags()
	o.AlsoGraphs(cmd)
	kube.FollowContext(cmd)
	command.Choice(cmd, &o.cascade, "cascade", "", "foreground", cascades, "deletion of dependents such as Pods: foreground, background or orphan")
	fl.BoolVar(&o.orphan, "orphan", false, "release all objects instead of deleting them")
	fl.BoolVar(&o.force, "force", false, "delete the objects of graphs that a controller in the cluster executes, which creates them again")
	fl.BoolVarP(&o.yes, "yes", "y", false, "delete the ResourceGraphs that pequod-applier executes without a prompt")
	command.Choice(cmd, &o.dryRun, "dry-run", "", "none", execute.DryRunModes, "show what would be done without doing it: server (the API server checks every deletion) or client (only look up which objects exist)")
	cmd.ValidArgsFunction = kube.CompleteGraphNames(env, &o.ConnectionFlags, &o.Namespace)
	return cmd
}

// run deletes the graphs concurrently. It doesn't read the graphs themselves: the
// inventory in the cluster lists what to delete, or the labels of the objects if
// the inventory is lost. A graph without an inventory and without objects counts
// as deleted, so that a repeated delete succeeds.
func (o *deleteOptions) run(ctx context.Context, env command.Env, names []string) error {
	if err := o.RunFlags.Validate(); err != nil {
		return err
	}
	if o.dryRun != "none" && o.Output != "text" {
		return errors.New("--dry-run only supports -o text")
	}
	o.DefaultNamespace(&o.Namespace)
	owners, err := o.owners(ctx, env, names)
	if err != nil {
		return err
	}
	// Warnings of the API server go to stderr until the display of progress is open.
	warned := kube.PrintWarnings(env.Err)
	a, err := o.Connect(func(text string) { warned(text) })
	if err != nil {
		return err
	}
	for _, name := range names {
		owner, err := o.Graph(ctx, a, name, o.Namespace)
		if err != nil {
			return err
		}
		if !slices.Contains(owners, owner) {
			owners = append(owners, owner)
		}
	}
	if !o.force {
		if owners, err = o.withoutExecuted(ctx, env, a, owners); err != nil || len(owners) == 0 {
			return err
		}
	}
	if o.dryRun != "none" {
		return o.runDry(ctx, env, a, owners)
	}
	sink := o.OpenSink(env, progress.GraphsOf(owners))
	warned = sink.Warn
	a.Client.Propagation = propagations[o.cascade]
	ends := execute.RunEach(ctx, sink, progress.Delete, owners,
		func(ctx context.Context, i int, report func(applier.Event)) (*applier.Result, error) {
			opts := o.ApplierOptions()
			// Deletions are polled more often than the applies of other commands:
			// the next level waits for each object to be gone.
			opts.Orphan, opts.Report, opts.PollInterval = o.orphan, report, execute.DeletionPoll
			result, err := a.Delete(ctx, owners[i], opts)
			if result != nil {
				for _, key := range result.Unproven {
					sink.Warn(fmt.Sprintf("%s is left alone: it has the labels of graph %s, and another field manager applied it", key, owners[i]))
				}
			}
			return result, err
		})
	return o.Finish(env, sink, ends)
}

// withoutExecuted returns the graphs that no controller executes, after the ResourceGraphs of the
// others are deleted. It fails if the user doesn't agree to that.
func (o *deleteOptions) withoutExecuted(ctx context.Context, env command.Env, a *applier.Applier, owners []inventory.Owner) ([]inventory.Owner, error) {
	stored, err := executedGraphs(ctx, a, owners)
	if err != nil {
		return nil, kube.Error(err)
	}
	var rest []inventory.Owner
	var executed []*v1alpha1.ResourceGraph
	for i, rg := range stored {
		if rg == nil {
			rest = append(rest, owners[i])
		} else {
			executed = append(executed, rg)
		}
	}
	if len(executed) == 0 {
		return rest, nil
	}
	return rest, o.deleteInstead(ctx, env, a.Client, executed)
}

// runDry prints the effects of a deletion with the same flags.
func (o *deleteOptions) runDry(ctx context.Context, env command.Env, a *applier.Applier, owners []inventory.Owner) error {
	a.Client.Propagation = propagations[o.cascade]
	var opts applier.PlanOptions
	opts.Orphan = o.orphan
	return execute.DryRunDelete(ctx, env, a, owners, o.dryRun, opts)
}

// owners returns the graphs of the documents of -f, each once. Names are only checked: the cluster
// resolves them. An instance and its ResourceGraph name the same graph and may
// both be in the input. No graph at all is an error.
func (o *deleteOptions) owners(ctx context.Context, env command.Env, names []string) ([]inventory.Owner, error) {
	switch {
	case len(names) > 0 && len(o.Filenames) > 0:
		return nil, errors.New("delete takes names or -f, not both")
	case len(names) == 0 && len(o.Filenames) == 0:
		return nil, errors.New("no graph given; specify names, or files of graphs or instances with -f")
	}
	if err := kube.CheckGraphArgs(o.Namespace, names); err != nil {
		return nil, err
	}
	if len(names) > 0 {
		return nil, nil
	}
	var owners []inventory.Owner
	add := func(owner inventory.Owner) {
		if !slices.Contains(owners, owner) {
			owners = append(owners, owner)
		}
	}
	paths, err := o.Paths()
	if err != nil {
		return nil, err
	}
	// All documents are checked before anything is deleted. One without a usable
	// name fails the command as a whole.
	var problems problem.List
	for _, file := range paths {
		shown, data, err := files.ReadInput(ctx, file, env.In)
		if err != nil {
			return nil, err
		}
		for doc, ps := range yamlfile.Objects(shown, data) {
			if len(ps) == 0 {
				var owner inventory.Owner
				owner, ps = o.ownerOf(doc)
				add(owner)
			}
			problems = append(problems, ps...)
		}
	}
	if problems.Failed() {
		return nil, problems
	}
	if len(owners) == 0 {
		return nil, fmt.Errorf("no graphs and no instances in %s", strings.Join(o.Filenames, ", "))
	}
	return owners, nil
}

// ownerOf returns the graph of a document: the ResourceGraph itself, or the graph
// that an instance renders to. It reads only the names: a document that is
// invalid otherwise must not prevent the deletion of the objects that it created.
// Therefore it accepts a ResourceGraph of any version. The namespace of the
// document wins over --namespace.
func (o *deleteOptions) ownerOf(doc yamlfile.Document) (inventory.Owner, problem.List) {
	if !input.IsResourceGraph(doc) {
		in, ps := render.InstanceOf(doc)
		if ps.Failed() || in == nil {
			return inventory.Owner{}, ps
		}
		namespace, name := in.GraphOf(o.Namespace)
		return inventory.Owner{Namespace: namespace, Name: name}, nil
	}
	if ps := doc.Check(); ps.Failed() {
		return inventory.Owner{}, ps
	}
	// Spec and Status are decoded as any, because Decode rejects unknown fields.
	var head struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        metav1.ObjectMeta `json:"metadata"`
		Spec            any               `json:"spec"`
		Status          any               `json:"status"`
	}
	if err := doc.Decode(&head); err != nil {
		return inventory.Owner{}, input.ProblemsOf(err)
	}
	if head.Metadata.Name == "" {
		return inventory.Owner{}, problem.List{{
			Position: doc.At("metadata"), Path: "metadata.name", Rule: problem.RuleGraph, Message: "missing",
		}}
	}
	owner := inventory.Owner{Namespace: head.Metadata.Namespace, Name: head.Metadata.Name}
	if owner.Namespace == "" {
		owner.Namespace = o.Namespace
	}
	return owner, nil
}
