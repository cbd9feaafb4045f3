package install

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/rbac"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/generate"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/output"
	"github.com/pequod-io/pequod/internal/source"
)

// rbacOptions are the flags of rbac generate.
type rbacOptions struct {
	// RenderFlags select the graphs: -f and the flags for rendering instances.
	// AllowRevisions is set, so that roles can cover a change of revision.
	input.RenderFlags
	// RoleFlags decide about the roles. --for-cli is its field CLI.
	generate.RoleFlags
	// causes grants read access to Pods, ReplicaSets and Events, which explain why
	// an object isn't ready. It is on by default.
	causes bool
	// output is the value of -o, one of output.Formats.
	output string
}

// newRBACGenerateCommand returns the command "rbac generate". It has no flags of
// a cluster: the roles must be reviewable, and often exist before the cluster
// knows the kinds.
func newRBACGenerateCommand(env command.Env) *cobra.Command {
	o := &rbacOptions{}
	o.AllowRevisions = true
	cmd := &cobra.Command{
		Use:   "generate -f FILENAME",
		Short: "Print the minimal roles for the service accounts of graphs",
		Long: `Print the minimal roles with which the applier can execute graphs as their service
accounts.

The account of a graph is spec.serviceAccountName, or --default-service-account if
that is empty, in the namespace of the graph. Each account gets a Role and a
RoleBinding in every namespace with objects of its graphs, and a ClusterRole and a
ClusterRoleBinding for cluster-scoped objects. The rules of all graphs of an account
are combined.

In a namespace, the account gets access to whole kinds, so that it can also prune
objects that left its graph; --by-name limits it to the objects of the graphs.
Cluster-scoped objects, and objects that are only read, are always granted by name.
An object granted by name can be pruned only if the earlier revision of its graph is
also given; the input may contain a graph in several revisions. Drift is not detected
for kinds that the applier may not watch.

The graphs decide about the rights, so every user who can write a graph gains what its
account is granted. The command refuses rights that reach beyond the namespace of a graph
(cluster-scoped objects, other namespaces) or that can be used to gain others (bind,
escalate, impersonate, wildcards); --allow-escalation grants them. A summary of all
rights is printed to stderr: review it before you apply the roles.

A ClusterRole for each account, labeled ` + v1alpha1.LabelAggregate + `,
lets the applier itself watch these kinds. Secrets are excluded unless
--watch-secrets is set: the applier polls them as the account.

With --constrained, more roles allow the applier itself to act as these accounts, and
only with the verbs and on the resources that the accounts are granted. They are for an
applier that was installed with 'pequod install --constrained', which may act as no
account otherwise.

The resource name of a kind is taken from its CustomResourceDefinition, in a graph or
in --crd. It is never guessed.`,
		Example: `  # For rendered graphs
  pequod rbac generate -f graphs/ -R > rbac.yaml

  # For instances, and for the previous revision of their graphs
  pequod rbac generate -f apps/ -f before/graphs/ -R -p platforms/

  # For an applier that may act as no other accounts
  pequod rbac generate -f graphs/ -R --constrained > rbac.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), env) },
	}
	o.RenderFlags.AddFlags(cmd)
	o.RoleFlags.AddFlags(cmd)
	o.AlsoGraphs(cmd)
	fl := cmd.Flags()
	fl.BoolVar(&o.CLI, "for-cli", false, "add the rights to run pequod apply and delete as the account: inventories in ConfigMaps and ResourceGraphs, watches")
	fl.BoolVar(&o.causes, "causes", true, "add read access to Pods, ReplicaSets and Events, to report why an object is not ready")
	command.Choice(cmd, &o.output, "output", "o", "yaml", output.Formats, "output format: "+strings.Join(output.Formats, ", "))
	return cmd
}

// run generates the roles for all graphs of the input. The steps are: read the known
// resources, read the graphs, generate the roles, print the notes and the summary on
// stderr and the roles on stdout.
func (o *rbacOptions) run(ctx context.Context, env command.Env) error {
	if err := o.ReadResources(ctx); err != nil {
		return err
	}
	given, err := o.ReadGraphs(ctx, env)
	if err != nil {
		return err
	}
	var graphs []*v1alpha1.ResourceGraph
	for _, g := range given {
		graphs = append(graphs, g.ResourceGraph)
	}
	o.NoCauses = !o.causes
	roles, err := o.Generate(graphs)
	if err != nil {
		return err
	}
	for _, line := range slices.Concat(roles.Notes, roles.Escalations, roles.Summary) {
		fmt.Fprintln(env.Err, "pequod: "+source.Escape(line, ""))
	}
	return printRoles(env, o.output, roles)
}

// printRoles prints the roles. Nothing is printed if one of them can't be encoded.
func printRoles(env command.Env, format string, roles *rbac.Roles) error {
	encoded, err := generate.Roles(roles, format)
	if err != nil {
		return err
	}
	var objects [][]byte
	for _, obj := range encoded {
		objects = append(objects, obj.Data)
	}
	return output.Print(env.Out, format, objects)
}
