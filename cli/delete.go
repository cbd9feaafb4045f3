package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/cli/progress"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/render"
)

type deleteOptions struct {
	inputFlags
	clusterFlags
	runFlags
	cascade string
	orphan  bool
}

// pollGone is how often an object that is being deleted is looked for.
const pollGone = time.Second

// cascades are the values of --cascade.
var cascades = []string{"foreground", "background", "orphan"}

func newDelete(s streams) *cobra.Command {
	o := &deleteOptions{}
	cmd := &cobra.Command{
		Use:   "delete (NAME ... | -f FILENAME)",
		Short: "Remove what graphs own from a cluster",
		Long: `Remove everything that graphs own from a cluster, in reverse order: an object goes
when all that need it are gone. What a graph owns is in its inventory in the
cluster; the files only name the graph, so an instance needs no platform here.
Where the inventory was lost, the objects are found by their labels.

A graph is named by NAME and --namespace, by its own document, or by its instance.
Objects whose deletionPolicy is Orphan, by default PersistentVolumeClaims,
Namespaces and CustomResourceDefinitions, stay and are released: they lose the
graph's labels and the fields that it held are nobody's. With --orphan all are.

By default objects are deleted in the foreground: a Deployment is gone only when
its Pods are, so that what the Pods need outlives them.

The exit code is 0 if everything is gone or nothing was there, 1 if something
isn't gone in time or can't be removed, 2 if the cluster couldn't be asked.`,
		Example: `  pequod delete -f app.yaml -n shop
  pequod delete web-3f2a91c0 -n shop --timeout 10m`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), s, args) },
	}
	o.inputFlags.add(cmd)
	o.clusterFlags.add(cmd)
	o.runFlags.add(cmd, "wait until everything is gone; otherwise end when every deletion was asked for")
	fl := cmd.Flags()
	fl.Lookup("filename").Usage = "ResourceGraphs and instances: a YAML or JSON file, a directory, or - for stdin; repeatable"
	fl.Lookup("namespace").Usage = "namespace of graphs and instances that name none"
	fl.StringVar(&o.cascade, "cascade", "foreground", "what becomes of dependents such as Pods: foreground, background or orphan")
	fl.BoolVar(&o.orphan, "orphan", false, "leave all objects in the cluster and release them")
	must(cmd.RegisterFlagCompletionFunc("cascade", cobra.FixedCompletions(cascades, cobra.ShellCompDirectiveNoFileComp)))
	cmd.ValidArgsFunction = completeGraphs(s, &o.clusterFlags, &o.namespace)
	return cmd
}

func (o *deleteOptions) run(ctx context.Context, s streams, names []string) error {
	if err := o.runFlags.validate(); err != nil {
		return err
	}
	if err := oneOf("--cascade", o.cascade, cascades); err != nil {
		return err
	}
	owners, err := o.owners(s, names)
	if err != nil {
		return err
	}
	shown := make([]progress.Graph, len(owners))
	for i, owner := range owners {
		shown[i].Owner = owner
	}
	var sink progress.Sink
	a, err := o.connect(func(text string) { sink.Warn(text) })
	if err != nil {
		return err
	}
	sink = o.sink(s, shown) // before the first request
	a.Client.Propagation = map[string]cluster.Propagation{
		"foreground": cluster.Foreground, "background": cluster.Background, "orphan": cluster.Orphan,
	}[o.cascade]
	ends := runEach(ctx, sink, progress.Delete, owners,
		func(ctx context.Context, i int, report func(applier.Event)) (*applier.Result, error) {
			opts := o.options()
			opts.Orphan, opts.Report, opts.PollInterval = o.orphan, report, pollGone
			return a.Delete(ctx, owners[i], opts)
		})
	return o.finish(s, sink, ends)
}

// owners are the graphs to delete, each once.
func (o *deleteOptions) owners(s streams, names []string) ([]inventory.Owner, error) {
	switch {
	case len(names) > 0 && len(o.filenames) > 0:
		return nil, errors.New("delete takes names or -f, not both")
	case len(names) == 0 && len(o.filenames) == 0:
		return nil, errors.New("no graph given; name it, or give its file or its instance's with -f")
	}
	if err := validNames(o.namespace, names); err != nil {
		return nil, err
	}
	var owners []inventory.Owner
	add := func(owner inventory.Owner) {
		if !slices.Contains(owners, owner) {
			owners = append(owners, owner)
		}
	}
	for _, name := range names {
		add(inventory.Owner{Namespace: o.namespace, Name: name})
	}
	if len(names) > 0 {
		return owners, nil
	}
	files, err := o.files()
	if err != nil {
		return nil, err
	}
	var problems problem.List
	for _, file := range files {
		shown, data, err := readInput(file, s.in)
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
		return nil, fmt.Errorf("no graphs and no instances in %s", strings.Join(o.filenames, ", "))
	}
	return owners, nil
}

// ownerOf reads which graph a document is, or is the instance of, and nothing
// else: what is wrong with it otherwise is no reason to keep what it made.
func (o *deleteOptions) ownerOf(doc yamlfile.Document) (inventory.Owner, problem.List) {
	if !isResourceGraph(doc) {
		in, ps := render.InstanceOf(doc)
		if ps.Failed() || in == nil {
			return inventory.Owner{}, ps
		}
		namespace, name := in.GraphOf(o.namespace)
		return inventory.Owner{Namespace: namespace, Name: name}, nil
	}
	if ps := doc.Check(); ps.Failed() {
		return inventory.Owner{}, ps
	}
	var head struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        metav1.ObjectMeta `json:"metadata"`
		Spec            any               `json:"spec"`
		Status          any               `json:"status"`
	}
	if err := doc.Decode(&head); err != nil {
		return inventory.Owner{}, problemsOf(err)
	}
	if head.Metadata.Name == "" {
		return inventory.Owner{}, problem.List{{
			Position: doc.At("metadata"), Path: "metadata.name", Rule: problem.RuleGraph, Message: "missing",
		}}
	}
	owner := inventory.Owner{Namespace: head.Metadata.Namespace, Name: head.Metadata.Name}
	if owner.Namespace == "" {
		owner.Namespace = o.namespace
	}
	return owner, nil
}
