package install

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/execute"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/cli/progress"
	"github.com/pequod-io/pequod/inventory"
)

type installOptions struct {
	kube.ConnectionFlags
	execute.RunFlags
	image                   string
	crdsOnly, export, force bool
	dryRun                  string
}

func newInstallCommand(env command.Env) *cobra.Command {
	o := &installOptions{}
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Install pequod-applier in a cluster",
		Long: `Install the applier, or upgrade it: the definition of ResourceGraphs, the namespace
` + installNamespace + `, the program, and the roles that it needs. It takes an administrator
of the cluster. The result is that of 'kubectl apply -k config/applier', and what
that made is taken over; --export prints it, for kustomize or to be read. What an
earlier version installed by this command, and this one doesn't, is removed.

The namespace is always ` + installNamespace + `; for another one put a kustomization around
what --export prints.

With --dry-run nothing is written, and stdout says what would be done.

The exit code is 0 if everything is ready; 1 if something failed or isn't ready in
time; 2 if the cluster couldn't be asked.`,
		Example: `  pequod install
  pequod install --image registry.example.com/pequod-applier:v0.1.0

  # For GitOps
  pequod install --export > clusters/production/pequod-applier.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), env) },
	}
	o.ConnectionFlags.AddFlags(cmd)
	o.RunFlags.AddFlags(cmd, "wait until the applier is ready; otherwise end when everything is applied")
	fl := cmd.Flags()
	fl.StringVar(&o.image, "image", "", "image of the applier; by default that of this version")
	fl.BoolVar(&o.crdsOnly, "crds-only", false, "only the definitions, as for an applier that runs elsewhere")
	fl.BoolVar(&o.export, "export", false, "print what would be applied as YAML, and ask no cluster")
	fl.BoolVar(&o.force, "force-conflicts", false, "take fields that other managers hold, such as an image that was set by hand")
	fl.StringVar(&o.dryRun, "dry-run", "none", "say what would be done, and do nothing: server (the API server checks every object) or client (it is only asked what exists)")
	command.Must(cmd.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions(execute.DryRunModes, cobra.ShellCompDirectiveNoFileComp)))
	command.Must(cmd.RegisterFlagCompletionFunc("image", cobra.NoFileCompletions))
	return cmd
}

func (o *installOptions) run(ctx context.Context, env command.Env) error {
	if err := o.RunFlags.Validate(); err != nil {
		return err
	}
	if err := command.OneOf("--dry-run", o.dryRun, execute.DryRunModes); err != nil {
		return err
	}
	switch {
	case o.export && o.dryRun != "none":
		return errors.New("install takes --export or --dry-run, not both")
	case o.dryRun != "none" && o.Output != "text":
		return errors.New("--dry-run prints text")
	}
	m, err := applierManifests(o.image, o.crdsOnly)
	if err != nil {
		return err
	}
	if o.export {
		_, err := env.Out.Write(m.text)
		return command.OutputError(err)
	}
	return o.apply(ctx, env, m)
}

func (o *installOptions) apply(ctx context.Context, env command.Env, m *installation) error {
	rg, err := m.graph()
	if err != nil {
		return err
	}
	warn := kube.PrintWarnings(env.Err)
	a, err := o.Connect(func(text string) { warn(text) })
	if err != nil {
		return err
	}
	a.Inventories = unrecorded{}
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
