package install

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/execute"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/internal/source"
)

// uninstallOptions are the flags of uninstall. There is no -o: stdout has one
// line per removed object, in the form of kubectl delete.
type uninstallOptions struct {
	// ConnectionFlags select the cluster and the user.
	kube.ConnectionFlags
	// mode is the value of --mode, one of modeNames.
	mode string
	// orphanGraphs also releases the objects of all graphs, and removes the graphs
	// and the CRDs. By default graphs stay, for an applier that is installed later.
	orphanGraphs bool
	// yes skips the prompt. It is required if stdin is not a terminal, unless
	// dryRun makes the prompt unnecessary.
	yes bool
	// wait waits for the last deletions, and is on by default. The Deployment is
	// always waited for.
	wait bool
	// timeout limits the removal, without the time of the prompt. 0 means no limit.
	timeout time.Duration
	// dryRun is one of execute.DryRunModes; "none" removes.
	dryRun string
}

// newUninstallCommand returns the command "uninstall". It takes neither -f nor
// names: it removes the objects of the manifests that are built into the program.
func newUninstallCommand(env command.Env) *cobra.Command {
	o := &uninstallOptions{}
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove pequod-applier, pequod-manager or pequod-actions from a cluster, but nothing that it manages",
		Long: `Remove the applier, the manager with --mode=operator, or the executor of Actions with
--mode=actions: first the Deployment, and when its Pods are gone the roles, the service account and the namespace ` + installNamespace + `. The namespace is kept if it contains
anything else, or if that cannot be found out because an API group is not available. It
does not matter how the applier was installed.

Objects that ResourceGraphs manage are never removed. By default the ResourceGraphs
and their definition remain as well, but nothing reconciles them: their objects keep
running, and an applier that is installed later takes over where this one stopped.
Until then, a ResourceGraph that is deleted waits, because only an applier removes
its finalizer. Therefore nothing is uninstalled while a ResourceGraph is being
deleted.

With --mode=operator, the graphs are those that the manager made. Transforms, their kinds
with all instances, and their roles remain as well, and the policy that protects the graphs
of the manager from users. What the modes share stays as long as another one is
installed.

With --mode=actions, the Actions, Monitors and Receivers and their definitions remain. Runs that are in progress at
servers are neither cancelled nor awaited there; a program that is installed later finds them
again. An Action that is deleted meanwhile waits, unless the label pequod.io/paused=true lets it
go.

With --orphan-graphs, all objects of all graphs are released, as by 'pequod delete
--orphan': they stay in the cluster without an owner. Then the ResourceGraphs and
their definition are removed. The only way back is to adopt the objects again.

Prompts for confirmation. Use --yes to skip the prompt; it is required when stdin is
not a terminal. With --dry-run nothing is removed, and stdout lists what would be.

The exit code is 0 if everything is gone; 1 if something is not gone in time or cannot
be released, if a graph is being deleted, or if an applier still runs elsewhere; 2 if
the cluster could not be reached or the prompt was answered with no.`,
		Example: `  pequod uninstall
  pequod uninstall --orphan-graphs --dry-run=server`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), env) },
	}
	o.ConnectionFlags.AddFlags(cmd)
	fl := cmd.Flags()
	fl.BoolVar(&o.orphanGraphs, "orphan-graphs", false, "also release everything that graphs manage, and remove the graphs and their definition")
	fl.BoolVarP(&o.yes, "yes", "y", false, "skip the confirmation prompt")
	fl.BoolVar(&o.wait, "wait", true, "wait until everything is gone; otherwise exit when all deletions are requested")
	fl.DurationVar(&o.timeout, "timeout", 5*time.Minute, "time limit; 0 means no limit")
	command.Choice(cmd, &o.mode, "mode", "", modeGitOps, modeNames, "what to remove: gitops (pequod-applier), operator (pequod-manager) or actions (pequod-actions)")
	command.Choice(cmd, &o.dryRun, "dry-run", "", "none", execute.DryRunModes, "show what would be removed without removing it: server (the API server checks each deletion) or client (only look up which objects exist)")
	return cmd
}

// run checks the flags and connects to the cluster. uninstall does everything
// else; run turns its connection errors into one line.
func (o *uninstallOptions) run(ctx context.Context, env command.Env) error {
	if o.timeout < 0 {
		return errors.New("--timeout: must not be negative")
	}
	if o.orphanGraphs && o.mode == modeActions {
		return errors.New("--orphan-graphs is for --mode=gitops and --mode=operator")
	}
	a, err := o.Connect(kube.PrintWarnings(env.Err))
	if err != nil {
		return err
	}
	return kube.Error(o.uninstall(ctx, env, newRemover(a, modeOf(o.mode), o.dryRun, env)))
}

// uninstall looks up the installed objects, checks that they can be removed, asks
// for confirmation and removes them. Nothing is written before the answer. If
// nothing is installed, it succeeds, so that it can be repeated.
func (o *uninstallOptions) uninstall(ctx context.Context, env command.Env, r *remover) error {
	found, err := r.findInstalled(ctx)
	if err != nil {
		return err
	}
	// CRDs alone are the normal state after an uninstall that kept the graphs.
	if len(found.objects) == 0 || found.onlyDefinitions() && !o.orphanGraphs {
		fmt.Fprintln(env.Err, "nothing to uninstall")
		return nil
	}
	if err := found.check(r.mode, o.orphanGraphs); err != nil {
		return err
	}
	if err := o.confirm(ctx, env, r.mode.noun, len(found.graphs)); err != nil {
		return err
	}
	// The clock starts after the prompt, so that a slow answer costs nothing.
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.timeout)
		defer cancel()
	}
	if err := o.remove(ctx, r, found); err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = command.ExitError{Code: command.ExitNo, Causes: []error{fmt.Errorf("not uninstalled after %s (--timeout)", o.timeout)}}
		}
		return err
	}
	if n := len(found.graphs); n > 0 && !o.orphanGraphs {
		fmt.Fprintf(env.Err, "not removed: %s with all managed objects; nothing reconciles them until %s is installed again\n",
			source.Count(n, "ResourceGraph"), r.mode.article())
	}
	if kept := found.kept(); kept != "" {
		fmt.Fprintf(env.Err, "not removed: %s; %s in progress at servers, and nothing executes them until %s is installed again\n",
			kept, source.Count(openRuns(found.actions), "run"), r.mode.article())
	}
	return nil
}

// remove removes the objects that were found, in this order:
//
//   - The Deployment, with its last Pod, and the conversions by it.
//   - With orphanGraphs, the graphs, after a check that no other applier runs.
//   - Roles, service account, and with orphanGraphs the CRDs.
//   - The namespace.
//
// The order matters: the applier must have ended before graphs are released or
// removed, because a running one would apply released objects again, or delete
// the objects of a graph that is removed.
func (o *uninstallOptions) remove(ctx context.Context, r *remover, found *installed) error {
	// Also without --wait: a Pod that is still running may execute graphs.
	if deployment := found.find("Deployment"); deployment != nil {
		if err := r.delete(ctx, deployment); err != nil {
			return err
		}
		if err := r.wait(ctx, []*unstructured.Unstructured{deployment}); err != nil {
			return err
		}
	}
	if err := r.endConversions(ctx); err != nil {
		return err
	}
	if o.orphanGraphs {
		if err := r.checkLeases(ctx, found.leases); err != nil {
			return err
		}
		if err := r.releaseGraphs(ctx, found.graphs); err != nil {
			return err
		}
	}
	removed, err := r.removeRest(ctx, found, o.orphanGraphs)
	if err != nil || !o.wait {
		return err
	}
	return r.wait(ctx, removed)
}

// kept returns the objects that the executor of Actions leaves behind in words, or "".
func (f *installed) kept() string {
	var all []string
	for _, of := range []struct {
		n    int
		kind string
	}{{len(f.actions), "Action"}, {len(f.monitors), "Monitor"}, {len(f.receivers), "Receiver"}} {
		if of.n > 0 {
			all = append(all, source.Count(of.n, of.kind))
		}
	}
	return strings.Join(all, ", ")
}

// openRuns returns the number of Actions with a run that has not ended.
func openRuns(actions []*unstructured.Unstructured) (n int) {
	for _, a := range actions {
		state, _, _ := unstructured.NestedString(a.Object, "status", "run", "state")
		if run := (&v1alpha1.ActionRun{State: v1alpha1.RunState(state)}); state != "" && !run.Ended() {
			n++
		}
	}
	return n
}

// confirm prompts for confirmation. Any answer but y or yes is an error, also the
// end of the input. A dry run removes nothing and needs no prompt.
func (o *uninstallOptions) confirm(ctx context.Context, env command.Env, noun string, graphs int) error {
	if o.yes || o.dryRun != "none" {
		return nil
	}
	question := "Remove the " + noun + "?"
	if graphs > 0 && o.orphanGraphs {
		question = fmt.Sprintf("Remove the %s and %s? Managed objects stay in the cluster without an owner.", noun, source.Count(graphs, "ResourceGraph"))
	}
	if yes, err := command.Confirm(ctx, env, "uninstall", question); yes || err != nil {
		return err
	}
	return errors.New("nothing was removed")
}
