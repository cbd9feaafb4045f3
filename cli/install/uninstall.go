package install

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/execute"
	"github.com/pequod-io/pequod/cli/kube"
)

type uninstallOptions struct {
	kube.ConnectionFlags
	orphanGraphs, yes, wait bool
	timeout                 time.Duration
	dryRun                  string
}

func newUninstallCommand(env command.Env) *cobra.Command {
	o := &uninstallOptions{}
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove pequod-applier from a cluster, and nothing that it manages",
		Long: `Remove the applier: the program first, and when it has ended its roles, its account
and the namespace ` + installNamespace + `, which stays if it holds anything else. However it was
installed makes no difference.

What ResourceGraphs manage is never removed. By default the ResourceGraphs stay as
well, with their definition, and nobody executes them: what they manage goes on,
and an applier that is installed again takes up where this one ended. Until then a
ResourceGraph that is deleted waits, for only an applier removes its finalizer;
therefore nothing is uninstalled while one is being deleted.

With --orphan-graphs every object of every graph is released, as by 'pequod delete
--orphan': it stays, and is nobody's. Then the ResourceGraphs are removed, and
their definition. This can't be undone but by adopting the objects again.

It asks before it begins; --yes says so beforehand, and must where stdin isn't a
terminal. With --dry-run nothing is removed, and stdout says what would be.

The exit code is 0 if everything is gone; 1 if something isn't gone in time or can't
be released, if a graph is being deleted, or if an applier still runs elsewhere; 2 if
the cluster couldn't be asked, or the answer was no.`,
		Example: `  pequod uninstall
  pequod uninstall --orphan-graphs --dry-run=server`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), env) },
	}
	o.ConnectionFlags.AddFlags(cmd)
	fl := cmd.Flags()
	fl.BoolVar(&o.orphanGraphs, "orphan-graphs", false, "also release all that graphs manage, and remove the graphs and their definition")
	fl.BoolVarP(&o.yes, "yes", "y", false, "don't ask")
	fl.BoolVar(&o.wait, "wait", true, "wait until everything is gone; otherwise end when every deletion was asked for")
	fl.DurationVar(&o.timeout, "timeout", 5*time.Minute, "give up after this time; 0 means never")
	fl.StringVar(&o.dryRun, "dry-run", "none", "say what would be removed, and remove nothing: server (the API server is asked whether it may be) or client (it is only asked what exists)")
	command.Must(cmd.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions(execute.DryRunModes, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

func (o *uninstallOptions) run(ctx context.Context, env command.Env) error {
	if o.timeout < 0 {
		return errors.New("--timeout: must not be negative")
	}
	if err := command.OneOf("--dry-run", o.dryRun, execute.DryRunModes); err != nil {
		return err
	}
	a, err := o.Connect(kube.PrintWarnings(env.Err))
	if err != nil {
		return err
	}
	err = o.uninstall(ctx, env, a)
	if errors.Is(err, context.DeadlineExceeded) {
		return command.ExitError{Code: command.ExitNo} // what is left was printed
	}
	return kube.Error(err)
}

func (o *uninstallOptions) uninstall(ctx context.Context, env command.Env, a *applier.Applier) error {
	r := newRemover(a, o.dryRun, env.Out, env.Err)
	p, err := r.plan(ctx)
	if err != nil {
		return err
	}
	if p.empty() && !o.orphanGraphs || len(p.objects) == 0 {
		fmt.Fprintln(env.Err, "nothing to uninstall")
		return nil
	}
	if err := p.refuse(o.orphanGraphs); err != nil {
		return err
	}
	if err := o.confirm(ctx, env, p); err != nil {
		return err
	}
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.timeout)
		defer cancel()
	}
	// Nobody must be left who would make again what is released, or delete what
	// a graph holds that is removed.
	if err := r.stop(ctx, p); err != nil {
		return err
	}
	if o.orphanGraphs {
		if err := r.refuseLeader(ctx, p); err != nil {
			return err
		}
		if err := r.releaseGraphs(ctx, p); err != nil {
			return err
		}
	}
	if err := r.removeRest(ctx, p, o.orphanGraphs, o.wait); err != nil {
		return err
	}
	if n := len(p.graphs); n > 0 && !o.orphanGraphs {
		fmt.Fprintf(env.Err, "%s, with all that is managed by it; no applier looks after it until one is installed again\n",
			count(n, "ResourceGraph stays", "ResourceGraphs stay"))
	}
	return nil
}

// confirm asks whoever sits at the terminal.
func (o *uninstallOptions) confirm(ctx context.Context, env command.Env, p *removal) error {
	if o.yes || o.dryRun != "none" {
		return nil
	}
	if file, ok := env.In.(*os.File); !ok || !term.IsTerminal(int(file.Fd())) {
		return errors.New("uninstall asks before it begins, and stdin isn't a terminal; say --yes")
	}
	what := "the applier"
	if n := len(p.graphs); n > 0 && o.orphanGraphs {
		what += fmt.Sprintf(" and %s; what they manage stays and is nobody's", count(n, "ResourceGraph", "ResourceGraphs"))
	}
	fmt.Fprintf(env.Err, "Remove %s? [y/N] ", what)
	answers := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(env.In).ReadString('\n') // no line is no yes
		answers <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case answer := <-answers:
		if answer == "y" || answer == "yes" {
			return nil
		}
	}
	return errors.New("nothing was removed")
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
