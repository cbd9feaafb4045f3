package run

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/execute"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/cli/output"
	"github.com/pequod-io/pequod/cli/statusview"
	"github.com/pequod-io/pequod/cli/style"
)

// statusFormats are the values of -o of status. "wide" is the text form with more
// columns, and "dot" the input of Graphviz.
var statusFormats = []string{"text", "wide", "json", "yaml", "dot", "name"}

// statusOptions are the flags of status. They select one of three modes: the list
// without names and -f, the current state of graphs, or the live state with watch
// or wait.
type statusOptions struct {
	// RenderFlags select graphs by files. Namespace is also the namespace of named
	// graphs and of the list.
	input.RenderFlags
	// ConnectionFlags select the cluster and the user.
	kube.ConnectionFlags
	// output is the value of -o, one of statusFormats. The list has no dot, and
	// watch and wait support only text and json.
	output string
	// allNamespaces is -A. It applies only to the list and excludes -n.
	allNamespaces bool
	// watch follows the graphs and objects until an interrupt. It requires names or -f.
	watch bool
	// wait follows the graphs until all are ready. It requires names or -f, and
	// wins over watch if both are set.
	wait bool
	// timeout limits wait; 0 means no limit. It doesn't limit watch.
	timeout time.Duration
}

// newStatusCommand returns the command "status". Without graphs it lists them
// (statuslist.go), and with --watch or --wait it follows them (statuswatch.go).
// Its own check of the arguments needs Changed, so that a default for -f or -n in
// pequod.yaml doesn't conflict with names or -A.
func newStatusCommand(env command.Env) *cobra.Command {
	o := &statusOptions{}
	cmd := &cobra.Command{
		Use:   "status [-f FILENAME | NAME ... | TYPE/NAME ... | TYPE NAME ...]",
		Short: "Show the state of graphs, Actions, Monitors and Receivers in a cluster",
		Long: `Show the nodes of graphs with their live state, and the reason if they are not ready.
Nothing is written. A node that an apply would change is marked.

With -f, the graphs are ResourceGraphs and the graphs of instances. If the cluster has a
ResourceGraph of the same name, its own message is shown, too. With names, they
are graphs of the namespace: the spec is that of the ResourceGraph in the cluster. If
there is none, the inventory of the last run is used, which knows each object but not
its desired state. A name is that of a graph or of its instance, or KIND/NAME of the
instance or of an object of the graph.

With neither, the command lists all ResourceGraphs, and the graphs that were executed from
here, in the namespace or with -A in all namespaces. Those that need attention come first.
The state of a ResourceGraph is that of its status. A graph with a crash loop or with an
image that can't be pulled is Degraded.

The list also has the Actions, Monitors and Receivers, which pequod-actions executes: the phase
of an Action, its run and its next attempt; the rules of a Monitor that hold or are tripped,
and the targets that can't be read; and the number of messages that a Receiver has given up.
For graphs, these are shown below the nodes. Those that you may not list are left out, with a note
on stderr.

With action/NAME, monitor/NAME or receiver/NAME, everything about one object is shown: its conditions; of an
Action the run, the plan, the last check, the outputs and the finished runs; of a Monitor the rules and
the targets; of a Receiver the messages that it has given up. Outputs that are sensitive are
named, and the path of a webhook is not shown. Types are named as for kubectl, such as actions or
actions.platform.pequod.io.

With --watch, the state is shown and then every change until an interrupt: as a live
tree on a terminal, as a line per change elsewhere, and with -o json as a JSON object
per state of a graph. With --wait, the command exits when everything is ready, or
after --timeout. A node that a run in progress has applied counts as applied; the
graph is ready when that run says so. Of Actions, Monitors and Receivers that are named, there is
a line per change, and with -o json an object with the field kind per state. --wait then also exits
when one of them is stalled, since it can't become ready without a change. Of graphs, both show nodes only.

Templates of -o apply to the object that -o json prints. custom-columns prints a row for
each graph.

The exit code is 0 if everything is ready; 1 if not; 2 if the cluster could not be
reached or has no such graph or object. Actions, Monitors and Receivers count in the list, when they are named,
and for graphs as nodes.`,
		Example: `  pequod status -f app.yaml -p platforms/
  pequod status web -n shop
  pequod status deployment/web -n shop
  pequod status -n shop
  pequod status -A
  pequod status action/production-pg -n shop

  # The graphs that are not ready
  pequod status web-1b2c3d4e -n shop -o jsonpath='{.graphs[?(@.ready==false)].name}'

  # Follow the applier until everything is ready
  pequod status web-1b2c3d4e -n shop --wait

  # Follow the run of an Action until it is ready, or has failed for good
  pequod status action/production-pg -n shop --wait`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && cmd.Flags().Changed("filename") {
				return errors.New("status takes names or -f, not both")
			}
			named := len(args) > 0 || cmd.Flags().Changed("filename")
			if cmd.Flags().Changed("all-namespaces") && o.allNamespaces && (named || cmd.Flags().Changed("namespace")) {
				return errors.New("-A cannot be combined with names, -f or -n")
			}
			// Files that settings name don't narrow -A, and what the command line names wins over
			// an all-namespaces of settings.
			if o.allNamespaces = o.allNamespaces && !named && !cmd.Flags().Changed("namespace"); o.allNamespaces {
				o.Filenames = nil
			}
			return o.run(cmd.Context(), env, args)
		},
	}
	o.RenderFlags.AddFlags(cmd)
	o.ConnectionFlags.AddFlags(cmd)
	fl := cmd.Flags()
	fl.Lookup("filename").Usage = "ResourceGraphs and instances: a YAML or JSON file, a directory, or - for stdin; can be repeated"
	fl.Lookup("namespace").Usage = "namespace of the named graphs and objects, and of graphs and instances without metadata.namespace"
	kube.FollowContext(cmd)
	output.Choice(cmd, &o.output, "text", statusFormats)
	fl.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "list the graphs of all namespaces")
	fl.BoolVarP(&o.watch, "watch", "w", false, "show changes until an interrupt")
	fl.BoolVar(&o.wait, "wait", false, "show changes until everything is ready")
	fl.DurationVar(&o.timeout, "timeout", 5*time.Minute, "time limit of --wait; 0 means no limit")
	cmd.ValidArgsFunction = kube.CompleteGraphNames(env, &o.ConnectionFlags, &o.Namespace)
	return cmd
}

// run checks the flags and picks the mode. For the current state, it reads all
// graphs and objects and then prints one report. The exit code is 1 if one is not ready.
func (o *statusOptions) run(ctx context.Context, env command.Env, args []string) error {
	o.DefaultNamespace(&o.Namespace)
	names, err := parseStatusNames(args, o.Namespace)
	if err != nil {
		return err
	}
	if o.watch || o.wait {
		return o.follow(ctx, env, names)
	}
	if names.empty() && len(o.Filenames) == 0 {
		return o.list(ctx, env)
	}
	if o.output == "dot" && len(names.outside) > 0 {
		return errors.New("-o dot draws graphs only")
	}
	a, states, err := o.states(ctx, env, names)
	if err != nil {
		return err
	}
	named, err := details(ctx, a.Client, names.outside)
	if err != nil {
		return err
	}
	report := statusview.NewReport(states)
	// Errors are printed. The answer about the graphs is complete without these objects.
	nodes, _ := (&outsideReader{client: a.Client, env: env}).nodes(ctx, states)
	if err := o.write(env, report, nodes.Without(named), named); err != nil {
		return command.OutputError(err)
	}
	if slices.ContainsFunc(states, func(s *applier.State) bool { return !s.Ready }) || !named.Ready() {
		return command.ExitError{Code: command.ExitNo}
	}
	return nil
}

// states reads the states of the graphs of names, or of -f if there are no names.
// It reads up to execute.MaxConcurrent graphs at once and keeps the order of the
// arguments. The first error cancels the others: half a report would look like a
// complete one.
func (o *statusOptions) states(ctx context.Context, env command.Env, given statusNames) (*applier.Applier, []*applier.State, error) {
	var graphs []input.Graph
	var err error
	names := given.graphs
	if given.empty() {
		o.Modules.Options.ConfigMaps = o.ConfigMaps(kube.PrintWarnings(env.Err), o.Namespace)
		if graphs, err = o.ReadGraphs(ctx, env); err != nil {
			return nil, nil, err
		}
	}
	a, err := o.Connect(kube.PrintWarnings(env.Err))
	if err != nil {
		return nil, nil, err
	}
	// Either names or graphs is empty, so both loops may start at index 0. Each
	// goroutine writes its own element.
	states := make([]*applier.State, len(names)+len(graphs))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(execute.MaxConcurrent)
	for i, name := range names {
		g.Go(func() error {
			owner, err := o.Graph(ctx, a, name, o.Namespace)
			if err == nil {
				states[i], err = a.StatusOf(ctx, owner)
			}
			return kube.Error(err)
		})
	}
	for i, rg := range graphs {
		g.Go(func() (err error) {
			states[i], err = a.Status(ctx, rg.ResourceGraph)
			return execute.GraphError(rg.ResourceGraph, err)
		})
	}
	return a, states, g.Wait()
}

// write prints a report in the format of -o. nodes are the Actions, Monitors and Receivers of the
// graphs, and named are those of the arguments. Text and wide are trees.
func (o *statusOptions) write(env command.Env, r statusview.Report, nodes, named statusview.Outside) error {
	r.Outside = named
	r.Add(nodes.All()...)
	if o.output == "dot" {
		return statusview.WriteDOT(env.Out, r)
	}
	var names []string
	for _, g := range r.Graphs {
		names = append(names, graphName(g.Name))
	}
	answer := output.Answer{Root: r, Names: append(names, outsideNames(named)...), Text: func() string {
		tree := statusview.Tree{Color: style.Colored(env.Out), Wide: o.output == "wide", Width: style.TerminalWidth(env.Out)}
		var parts []string
		if len(r.Graphs) > 0 {
			parts = append(parts, statusview.TreeText(r, tree))
		}
		parts = append(parts, o.tables(nodes, env.Out)...)
		if !named.Empty() {
			parts = append(parts, statusview.DetailText(named, tree))
		}
		return strings.Join(parts, "\n")
	}}
	if strings.HasPrefix(o.output, "custom-columns") {
		answer.Root = singleList(r, named)
	}
	return answer.Write(env, o.output)
}

// singleList returns what custom-columns prints the rows of: graphs, or the named objects of one kind.
func singleList(r statusview.Report, named statusview.Outside) any {
	switch {
	case len(r.Graphs) > 0:
	case len(named.Monitors)+len(named.Receivers) == 0:
		return map[string]any{"actions": named.Actions}
	case len(named.Actions)+len(named.Receivers) == 0:
		return map[string]any{"monitors": named.Monitors}
	case len(named.Actions)+len(named.Monitors) == 0:
		return map[string]any{"receivers": named.Receivers}
	}
	return map[string]any{"graphs": r.Graphs}
}

// tables returns the tables of what pequod-actions executes.
func (o *statusOptions) tables(outside statusview.Outside, out io.Writer) []string {
	return statusview.TableTexts(outside, statusview.Tables{Namespaces: o.allNamespaces, Wide: o.output == "wide", Width: style.TerminalWidth(out)})
}
