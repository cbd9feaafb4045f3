package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/cli/statusview"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/inventory"
)

// statusFormats are the values of -o of status.
var statusFormats = []string{"text", "wide", "json", "yaml", "dot"}

type statusOptions struct {
	renderFlags
	clusterFlags
	output        string
	allNamespaces bool
	watch, wait   bool
	timeout       time.Duration
}

func newStatus(s streams) *cobra.Command {
	o := &statusOptions{}
	cmd := &cobra.Command{
		Use:   "status [-f FILENAME | NAME ...]",
		Short: "Show how graphs are in a cluster",
		Long: `Show the nodes of graphs with their live state, and why those aren't ready that
aren't. Nothing is written: a node that an apply would change says so.

With -f, the graphs are ResourceGraphs and the graphs of instances. With names,
they are those of the namespace: as the ResourceGraph in the cluster says, or where
there is none, by the record of what was applied, which knows each object but not
how it should be. With neither, the graphs are listed that were executed, from here
or in the cluster: those of the namespace, or with -A those of all.

With --watch, graphs are shown as they are and then whatever changes, until an
interrupt: on a terminal as a tree that is drawn anew, elsewhere by a line for each
change, with -o json by a JSON object for each state of a graph. With --wait that
ends when everything is ready, or after --timeout. A node that was applied by a run
which is under way counts as applied; the graph is ready when the run says so.

The exit code is 0 if everything is ready, 1 if not, and 2 if the cluster couldn't
be asked or has no such graph.`,
		Example: `  pequod status -f app.yaml -p platforms/
  pequod status web-1b2c3d4e -n shop
  pequod status -n shop
  pequod status -A

  # Look on while the applier executes a graph, until everything is ready
  pequod status web-1b2c3d4e -n shop --wait`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && cmd.Flags().Changed("filename") {
				return errors.New("status takes names or -f, not both")
			}
			if o.allNamespaces && (len(args) > 0 || cmd.Flags().Changed("filename") || cmd.Flags().Changed("namespace")) {
				return errors.New("-A lists the graphs of all namespaces: it goes without names, -f and -n")
			}
			return o.run(cmd.Context(), s, args)
		},
	}
	o.renderFlags.add(cmd)
	o.clusterFlags.add(cmd)
	fl := cmd.Flags()
	fl.Lookup("filename").Usage = "ResourceGraphs and instances: a YAML or JSON file, a directory, or - for stdin; repeatable"
	fl.Lookup("namespace").Usage = "namespace of the graphs that are named, and of graphs and instances that name none"
	fl.StringVarP(&o.output, "output", "o", "text", "output format: "+strings.Join(statusFormats, ", "))
	fl.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "list the graphs of all namespaces")
	fl.BoolVarP(&o.watch, "watch", "w", false, "show what changes, until an interrupt")
	fl.BoolVar(&o.wait, "wait", false, "show what changes, until everything is ready")
	fl.DurationVar(&o.timeout, "timeout", 5*time.Minute, "how long --wait waits; 0 means without end")
	cmd.ValidArgsFunction = completeGraphs(s, &o.clusterFlags, &o.namespace)
	must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(statusFormats, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

func (o *statusOptions) run(ctx context.Context, s streams, names []string) error {
	if err := oneOf("--output", o.output, statusFormats); err != nil {
		return err
	}
	if err := validNames(o.namespace, names); err != nil {
		return err
	}
	if o.watch || o.wait {
		return o.follow(ctx, s, names)
	}
	if len(names) == 0 && len(o.filenames) == 0 {
		return o.list(ctx, s)
	}
	states, err := o.states(ctx, s, names)
	if err != nil {
		return err
	}
	if err := o.write(s.out, statusview.NewReport(states)); err != nil {
		return outputError(err)
	}
	for _, state := range states {
		if !state.Ready {
			return saidError{exitNo}
		}
	}
	return nil
}

// states finds out how graphs are: those of names, else those of -f.
func (o *statusOptions) states(ctx context.Context, s streams, names []string) ([]*applier.State, error) {
	var graphs []givenGraph
	var err error
	if len(names) == 0 {
		if graphs, err = o.graphs(ctx, s); err != nil {
			return nil, err
		}
	}
	a, err := o.connect(warnTo(s.err))
	if err != nil {
		return nil, err
	}
	states := make([]*applier.State, len(names)+len(graphs))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(graphsAtOnce)
	for i, name := range names {
		g.Go(func() (err error) {
			states[i], err = a.StatusOf(ctx, inventory.Owner{Namespace: o.namespace, Name: name})
			return clusterError(err)
		})
	}
	for i, rg := range graphs {
		g.Go(func() (err error) {
			states[i], err = a.Status(ctx, rg.ResourceGraph)
			return graphError(rg.ResourceGraph, err)
		})
	}
	return states, g.Wait()
}

func (o *statusOptions) write(w io.Writer, r statusview.Report) error {
	switch o.output {
	case "json", "yaml":
		data, err := encode(o.output, r, "")
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	case "dot":
		return statusview.WriteDOT(w, r)
	}
	return statusview.WriteTree(w, r, statusview.Tree{Color: colored(w), Wide: o.output == "wide"})
}

// listedGraph is one line of the list of graphs.
type listedGraph struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Objects   int    `json:"objects"`
	// Complete says that the last run came to its end with everything ready.
	Complete bool   `json:"complete"`
	Revision string `json:"revision"`
}

// list prints the graphs of the namespace.
func (o *statusOptions) list(ctx context.Context, s streams) error {
	if o.output == "dot" {
		return errors.New("-o dot shows graphs: name some, or give -f")
	}
	a, err := o.connect(warnTo(s.err))
	if err != nil {
		return err
	}
	namespace := o.namespace
	if o.allNamespaces {
		namespace = ""
	}
	inventories, failed := a.Inventories.List(ctx, namespace)
	if failed != nil && len(inventories) == 0 {
		return clusterError(failed)
	}
	listed := []listedGraph{}
	code := exitYes
	for _, inv := range inventories {
		listed = append(listed, listedGraph{
			Namespace: inv.Owner.Namespace, Name: inv.Owner.Name, Objects: len(inv.Entries),
			Complete: inv.Complete, Revision: inv.Revision,
		})
		if !inv.Complete {
			code = exitNo
		}
	}
	if err := o.writeList(s, listed); err != nil {
		return outputError(err)
	}
	for _, err := range allErrors(failed) {
		fmt.Fprintln(s.err, "pequod: "+source.Escape(err.Error(), ""))
		code = exitNoAnswer
	}
	return saidCode(code)
}

func (o *statusOptions) writeList(s streams, listed []listedGraph) error {
	if o.output == "json" || o.output == "yaml" {
		data, err := encode(o.output, struct {
			Graphs []listedGraph `json:"graphs"`
		}{listed}, "")
		if err == nil {
			_, err = s.out.Write(data)
		}
		return err
	}
	if len(listed) == 0 {
		where := "namespace " + o.namespace
		if o.allNamespaces {
			where = "any namespace"
		}
		fmt.Fprintf(s.err, "pequod: no graphs in %s\n", where)
		return nil
	}
	w := tabwriter.NewWriter(s.out, 0, 8, 3, ' ', 0)
	head := "NAME\tOBJECTS\tLAST RUN"
	if o.allNamespaces {
		head = "NAMESPACE\t" + head
	}
	if o.output == "wide" {
		head += "\tREVISION"
	}
	fmt.Fprintln(w, head)
	for _, g := range listed {
		state := "complete"
		if !g.Complete {
			state = "incomplete"
		}
		if o.allNamespaces {
			fmt.Fprintf(w, "%s\t", g.Namespace)
		}
		fmt.Fprintf(w, "%s\t%d\t%s", g.Name, g.Objects, state)
		if o.output == "wide" {
			fmt.Fprintf(w, "\t%s", source.Escape(g.Revision, ""))
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}
