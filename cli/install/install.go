package install

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/execute"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/cli/progress"
	"github.com/pequod-io/pequod/inventory"
)

// installOptions are the flags of install. The namespace is no flag: uninstall
// and the roles rely on it.
type installOptions struct {
	// ConnectionFlags select the cluster and the user, who needs cluster-admin
	// rights. They have no effect with export.
	kube.ConnectionFlags
	// RunFlags are --timeout, --wait and -o.
	execute.RunFlags
	// variant has --image, --constrained, --allow-egress and --webhooks, which --check-authors sets, too.
	// Constrained has an effect only if the API server has constrained impersonation.
	variant
	// checkAuthors installs the webhook of the applier.
	checkAuthors bool
	// mode is the value of --mode, one of modeNames.
	mode string
	// crdsOnly installs the CRDs only, for an applier that runs elsewhere. It also
	// turns off pruning, so that an installed applier is not removed.
	crdsOnly bool
	// networkPolicy installs the NetworkPolicy of the applier. If it is unset, an
	// installed one is removed.
	networkPolicy bool
	// export prints the manifests instead of applying them. It needs no cluster
	// and excludes dryRun.
	export bool
	// force is --force-conflicts: it takes over fields of other field managers.
	force bool
	// dryRun is one of execute.DryRunModes. "none", the default, installs. The
	// others exclude -o json.
	dryRun string
}

// newInstallCommand returns the command "install". It takes no files: the
// manifests are part of the program, so the applier has the version of the
// command line.
func newInstallCommand(env command.Env) *cobra.Command {
	o := &installOptions{}
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Install or upgrade pequod-applier, pequod-manager or pequod-actions in a cluster",
		Long: `Install or upgrade the applier, the manager with --mode=operator, or the executor of
Actions, Monitors and Receivers with --mode=actions: the CustomResourceDefinitions, the namespace ` + installNamespace + `, the Deployment with its NetworkPolicy,
and the roles that it needs. This requires cluster-admin rights. The result is the same as
that of 'kubectl apply -k config/applier', config/default or config/actions, and objects that kubectl
created are taken over. Objects that an earlier version of this command installed, and
this version does not, are removed.

The applier executes the ResourceGraphs that others bring into the cluster (GitOps). The
manager makes them from Transforms and instances in the cluster. pequod-actions executes Actions,
which run something outside of the cluster, Monitors and Receivers. All can be in one cluster.

pequod-actions connects to no server unless --allow-egress names it: a host such as
api.github.com, all below a name such as *.example.com, * for all public addresses, or a network
such as 10.0.0.0/8 for addresses that are not public. http://HOST also allows connections without
TLS.

The applier may act as every service account of the cluster, unless --constrained is set:
then it may only do what the roles of 'pequod rbac generate --constrained' allow. The manager
may act as the accounts of Transforms, and with --constrained only do as one of its
namespace what it may do itself. This needs Kubernetes 1.36; in older clusters the flag has no
effect but a warning.

Whoever may write graphs in a namespace can use the service accounts of the namespace by
them, unless --check-authors is set: a webhook then refuses graphs whose authors may
neither do what the nodes do nor impersonate the service account of the graph.

With --mode=operator and --webhooks, the API server asks the manager about instances and
Transforms before it stores them: a wrong one is refused at once, with the messages of
'pequod validate'. Without it, the status of the object has them.

The namespace is always ` + installNamespace + `. To use another one, write a kustomization around
the output of --export.

With --dry-run nothing is written, and stdout lists what would be done.

The exit code is 0 if everything is ready; 1 if something failed or is not ready in
time; 2 if the cluster could not be reached.`,
		Example: `  pequod install
  pequod install --image registry.example.com/pequod-applier:v0.1.0

  pequod install --mode operator --webhooks
  pequod install --mode actions --allow-egress api.github.com,gitlab.example.com

  # For GitOps
  pequod install --export > clusters/production/pequod-applier.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), env) },
	}
	o.ConnectionFlags.AddFlags(cmd)
	o.RunFlags.AddFlags(cmd, "wait until the program is ready; otherwise exit when everything is applied")
	fl := cmd.Flags()
	fl.StringVar(&o.image, "image", "", "image of the program (default: the image of this version, by digest in releases)")
	fl.BoolVar(&o.crdsOnly, "crds-only", false, "install only the CustomResourceDefinitions, for a program that runs elsewhere")
	fl.BoolVar(&o.networkPolicy, "network-policy", true, "install a NetworkPolicy that admits only connections to the metrics and probes of the program")
	fl.BoolVar(&o.constrained, "constrained", false, "let the applier act only as the service accounts, and with the rights, of 'pequod rbac generate --constrained', and the manager do as a service account only what it may do itself (Kubernetes 1.36)")
	fl.BoolVar(&o.checkAuthors, "check-authors", false, "check by a webhook that whoever writes a graph may do what its nodes do, or impersonate its service account")
	fl.BoolVar(&o.webhooks, "webhooks", false, "check instances and Transforms when they are written (--mode=operator)")
	fl.StringSliceVar(&o.egress, "allow-egress", nil, "hosts and networks that Actions may connect to (--mode=actions); default: none")
	fl.BoolVar(&o.export, "export", false, "print the manifests as YAML without connecting to a cluster")
	fl.BoolVar(&o.force, "force-conflicts", false, "take over fields of other field managers, such as an image that was set by hand")
	command.Choice(cmd, &o.mode, "mode", "", modeGitOps, modeNames, "what to install: gitops (pequod-applier), operator (pequod-manager) or actions (pequod-actions)")
	command.Choice(cmd, &o.dryRun, "dry-run", "", "none", execute.DryRunModes, "show what would be done without doing it: server (the API server checks every object) or client (only look up which objects exist)")
	for _, name := range []string{"image", "allow-egress"} {
		command.Must(cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
	return cmd
}

// installs reports whether an object of the manifests is installed.
func (o *installOptions) installs(obj *unstructured.Unstructured) bool {
	switch obj.GetKind() {
	case kindCRD:
		return true
	case "NetworkPolicy":
		return o.networkPolicy && !o.crdsOnly
	}
	return !o.crdsOnly
}

// run checks the flags, prints the manifests with --export, and applies them
// otherwise.
func (o *installOptions) run(ctx context.Context, env command.Env) error {
	if err := o.RunFlags.Validate(); err != nil {
		return err
	}
	switch {
	case o.export && o.dryRun != "none":
		return errors.New("--export and --dry-run cannot be used together")
	case o.dryRun != "none" && o.Output != "text":
		return errors.New("--dry-run only supports -o text")
	case o.checkAuthors && o.mode != modeGitOps:
		return errors.New("--check-authors is for --mode=gitops")
	case o.webhooks && o.mode != modeOperator:
		return errors.New("--webhooks is for --mode=operator; the webhook of the applier is --check-authors")
	case o.constrained && o.mode == modeActions:
		return errors.New("--constrained is for --mode=gitops and --mode=operator")
	case len(o.egress) > 0 && o.mode != modeActions:
		return errors.New("--allow-egress is for --mode=actions")
	}
	o.variant.mode = modeOf(o.mode)
	o.webhooks = o.webhooks || o.checkAuthors
	m, err := o.manifests(o.installs)
	if err != nil {
		return err
	}
	if o.export {
		_, err := env.Out.Write(m.text)
		return command.OutputError(err)
	}
	return o.apply(ctx, env, m)
}

// apply applies the manifests as a graph. Without an inventory, objects of
// earlier versions are found by their labels, and are pruned unless only the CRDs
// are installed. A dry run plans the same graph.
func (o *installOptions) apply(ctx context.Context, env command.Env, m *installation) error {
	// Warnings of the API server go to stderr until the display is open.
	warn := kube.PrintWarnings(env.Err)
	a, err := o.Connect(func(text string) { warn(text) })
	if err != nil {
		return err
	}
	if o.constrained {
		can, have, err := canConstrain(ctx, a.Client)
		if err != nil {
			return err
		}
		if !can {
			whole := "every service account"
			if o.variant.mode.operator {
				whole = "the accounts of Transforms without limits"
			}
			fmt.Fprintf(env.Err, "pequod: Kubernetes %s has no constrained impersonation, which 1.36 has: the %s may act as %s\n", have, o.variant.mode.noun, whole)
			o.constrained = false
			if m, err = o.manifests(o.installs); err != nil {
				return err
			}
		}
	}
	if err := o.takeShared(ctx, a, m); err != nil {
		return kube.Error(err)
	}
	a.Inventories = unrecorded{withoutAbsent(ctx, a.Client, m.excluded)}
	rg, err := m.graph()
	if err != nil {
		return err
	}
	if o.dryRun != "none" {
		var opts applier.PlanOptions
		opts.ForceConflicts, opts.Prune = o.force, !o.crdsOnly
		return execute.DryRun(ctx, env, a, []input.Graph{{ResourceGraph: rg}}, o.dryRun, opts)
	}
	sink := o.OpenSink(env, []progress.Graph{execute.ProgressGraph(rg)})
	warn = sink.Warn
	owners := []inventory.Owner{{Namespace: rg.Namespace, Name: rg.Name}}
	ends := execute.RunEach(ctx, sink, progress.Apply, owners,
		func(ctx context.Context, _ int, report func(applier.Event)) (*applier.Result, error) {
			opts := o.ApplierOptions()
			opts.ForceConflicts, opts.Report, opts.Prune = o.force, report, !o.crdsOnly
			return a.Apply(ctx, rg, opts)
		})
	return o.Finish(env, sink, ends)
}

// takeShared makes the installation the owner of the objects that another mode has
// installed, too. A dry run leaves them out.
func (o *installOptions) takeShared(ctx context.Context, a *applier.Applier, m *installation) error {
	r := newRemover(a, m.mode, "none", command.Env{})
	var own []*unstructured.Unstructured
	for _, obj := range m.objects {
		if !shared(obj) {
			own = append(own, obj)
			continue
		}
		live, err := r.get(ctx, obj)
		if err != nil {
			return err
		}
		if live == nil || !slices.Contains(m.mode.others(), live.GetLabels()[v1alpha1.LabelGraph]) || live.GetLabels()[v1alpha1.LabelGraphNamespace] != installNamespace {
			own = append(own, obj)
			continue
		}
		if o.dryRun != "none" {
			continue
		}
		own = append(own, obj)
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, v1alpha1.LabelGraph, m.mode.program)
		err = r.do(ctx, live, func(resource dynamic.ResourceInterface) error {
			_, err := resource.Patch(ctx, live.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "pequod"})
			return err
		})
		if err != nil {
			return err
		}
	}
	m.objects = own
	return nil
}
