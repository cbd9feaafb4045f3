// Package ui has the command ui, a local page that shows the graphs of a cluster.
//
//   - commands.go: the command, its flags and its start
//   - source.go: the content of the page, from the cluster
//   - files.go: the difference between the files of -f and the cluster
//   - open.go: the browser of --open
//
// The page is in package page, the server that guards it in package server, and the
// summaries of its list in package catalog. One graph is followed as by pequod status -w,
// while a page shows it. Nothing is written to the cluster.
package ui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/cli/ui/catalog"
	"github.com/pequod-io/pequod/cli/ui/server"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/inventory"
)

// options are the flags of ui.
type options struct {
	// RenderFlags select the graphs to compare with the cluster, and the namespace.
	input.RenderFlags
	// ConnectionFlags select the cluster and the user.
	kube.ConnectionFlags
	// allNamespaces is -A. It excludes -n.
	allNamespaces bool
	// address and port are where the server listens. Port 0 is any free one.
	address string
	port    int
	// open opens the page in a browser.
	open bool
}

// Commands returns the command "ui".
func Commands(env command.Env) []*cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "ui [NAME | KIND/NAME]",
		Short: "Show the graphs of a cluster in the browser",
		Long: `Serve a page on this machine that shows the ResourceGraphs of a namespace, or with -A of
all namespaces, and the graphs that pequod apply has executed: a list to filter and
sort, and for each graph a drawing of its nodes with their live state, the reason if they
are not ready, what blocks them, drift and who caused it, outputs, history and Events.
The page follows the cluster as 'pequod status --watch' does. Nothing is written.

With a name, the page shows that graph first. The name is that of the graph or of its instance, or
KIND/NAME of the instance or of an object of the graph.

With -f, the page also compares ResourceGraphs and instances with the cluster, as
'pequod diff' does. Files are read again for each comparison.

The command prints an address, which can be opened once: the browser then has a cookie,
and the address is of no use to others. The server listens on a loopback address only.
Values of Secrets are shown as ***. The page needs no network and loads nothing from
elsewhere.

The command runs until an interrupt.`,
		Example: `  pequod ui -n shop
  pequod ui -A --context staging --open
  pequod ui deployment/web -n shop --open

  # Compare the files of a change with the cluster
  pequod ui -n shop -f apps/ -p platforms/`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.allNamespaces && cmd.Flags().Changed("namespace") {
				return errors.New("-A cannot be combined with -n")
			}
			return o.run(cmd.Context(), env, args)
		},
	}
	o.RenderFlags.AddFlags(cmd)
	o.ConnectionFlags.AddFlags(cmd)
	fl := cmd.Flags()
	fl.Lookup("filename").Usage = "ResourceGraphs and instances to compare with the cluster: a YAML or JSON file, a directory, or - for stdin; can be repeated"
	fl.Lookup("namespace").Usage = "namespace of the graphs, and of graphs and instances without metadata.namespace"
	kube.FollowContext(cmd)
	fl.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "show the graphs of all namespaces")
	fl.StringVar(&o.address, "address", "127.0.0.1", "loopback address to listen on")
	fl.IntVar(&o.port, "port", 0, "port to listen on; 0 means any free port")
	fl.BoolVar(&o.open, "open", false, "open the page in the browser")
	command.Must(cmd.RegisterFlagCompletionFunc("address", cobra.NoFileCompletions))
	cmd.ValidArgsFunction = kube.CompleteGraphNames(env, &o.ConnectionFlags, &o.Namespace)
	return []*cobra.Command{cmd}
}

// run serves the page until an interrupt, which is the normal end.
func (o *options) run(ctx context.Context, env command.Env, args []string) error {
	o.DefaultNamespace(&o.Namespace)
	if err := kube.CheckGraphArgs(o.Namespace, args); err != nil {
		return err
	}
	namespace := o.Namespace
	if o.allNamespaces {
		namespace = ""
	}
	s, err := server.Listen(o.address, o.port)
	if err != nil {
		return err
	}
	defer s.Close()
	a, err := o.Connect(kube.PrintWarnings(env.Err))
	if err != nil {
		return err
	}
	a.NameDrift = true
	o.Modules.Options.ConfigMaps = o.ConfigMaps(kube.PrintWarnings(env.Err), o.Namespace)
	f := &files{flags: &o.RenderFlags, env: env, fallback: o.Fallback}
	given, err := f.owners(ctx)
	if err != nil {
		return err
	}
	shown := slices.DeleteFunc(slices.Clone(given), func(g inventory.Owner) bool { return namespace != "" && g.Namespace != namespace })
	if n := len(given) - len(shown); n > 0 {
		fmt.Fprintf(env.Err, "pequod: %s of the files not shown, because of another namespace; -A shows all\n", source.Count(n, "graph"))
	}
	c := catalog.New(a, namespace, shown)
	where := "namespace " + namespace
	if namespace == "" {
		where = "all namespaces"
	}
	if len(args) > 0 {
		owner, err := o.Graph(ctx, a, args[0], o.Namespace)
		if err != nil {
			return err
		}
		s.First = owner.String()
	}
	if _, err := fmt.Fprintf(env.Out, "Serving the graphs of %s on %s\n", where, s.Address()); err != nil {
		return command.OutputError(err)
	}
	if o.open {
		if err := openBrowser(ctx, s.Address()); err != nil {
			fmt.Fprintf(env.Err, "pequod: --open: %v; open the address yourself\n", err)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { c.Run(ctx) })
	err = s.Serve(ctx, &pageSource{
		applier: a, catalog: c, files: f, cluster: o.Cluster(), namespace: namespace, names: o.Filenames,
	})
	cancel()
	group.Wait()
	return err
}
