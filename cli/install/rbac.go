package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/rbac"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/cli/output"
	"github.com/pequod-io/pequod/internal/source"
)

// rbacOptions are the flags of rbac generate.
type rbacOptions struct {
	// RenderFlags select the graphs: -f and the flags for rendering instances.
	// AllowRevisions is set, so that roles can cover a change of revision.
	input.RenderFlags
	// SchemaFlags is --crd, which here only tells the resource names of kinds.
	input.SchemaFlags
	// Options are --by-name, --for-cli, --watch-secrets and
	// --default-service-account. run fills in Resources and NoCauses.
	rbac.Options
	// resources are the values of --resource: KIND.GROUP=PLURAL[,cluster]. They
	// win over --crd.
	resources []string
	// allowEscalation prints the roles even if graphs ask for rights that reach beyond
	// their namespaces or that can be used to gain others.
	allowEscalation bool
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

The resource name of a kind is taken from its CustomResourceDefinition, in a graph or
in --crd. It is never guessed.`,
		Example: `  # For rendered graphs
  pequod rbac generate -f graphs/ -R > rbac.yaml

  # For instances, and for the previous revision of their graphs
  pequod rbac generate -f apps/ -f before/graphs/ -R -p platforms/`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), env) },
	}
	o.RenderFlags.AddFlags(cmd)
	o.SchemaFlags.AddFlags(cmd)
	fl := cmd.Flags()
	o.AlsoGraphs(cmd)
	fl.Lookup("crd").Usage = "CustomResourceDefinitions of kinds that no graph defines: a file or a directory; can be repeated"
	fl.StringVar(&o.ServiceAccount, "default-service-account", rbac.DefaultServiceAccount, "service account of graphs without spec.serviceAccountName")
	fl.StringArrayVar(&o.resources, "resource", nil,
		"resource of a kind without a definition: KIND.GROUP=PLURAL, or KIND.GROUP=PLURAL,cluster for a cluster-scoped kind; can be repeated")
	fl.BoolVar(&o.ByName, "by-name", false, "grant access only to the objects of the graphs, by name")
	fl.BoolVar(&o.CLI, "for-cli", false, "add the rights to run pequod apply and delete as the account: inventories in ConfigMaps and ResourceGraphs, watches")
	fl.BoolVar(&o.allowEscalation, "allow-escalation", false, "also grant rights that reach beyond the namespaces of the graphs or can be used to gain others")
	fl.BoolVar(&o.causes, "causes", true, "add read access to Pods, ReplicaSets and Events, to report why an object is not ready")
	fl.BoolVar(&o.WatchSecrets, "watch-secrets", false, "let the applier watch Secrets in all namespaces if graphs contain any")
	command.Choice(cmd, &o.output, "output", "o", "yaml", output.Formats, "output format: "+strings.Join(output.Formats, ", "))
	for _, name := range []string{"default-service-account", "resource"} {
		command.Must(cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
	return cmd
}

// run generates the roles for all graphs of the input. No cluster is involved, so
// kinds that are neither Kubernetes' own nor defined in the input are errors. The
// steps are: read the known resources, read the graphs, generate the roles, refuse
// escalations, print the notes and the summary on stderr and the roles on stdout.
func (o *rbacOptions) run(ctx context.Context, env command.Env) error {
	if err := o.readResources(ctx); err != nil {
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
	roles, err := rbac.Generate(graphs, o.Options)
	if err != nil {
		return unknownKinds(err)
	}
	if len(roles.Escalations) > 0 && !o.allowEscalation {
		return refuseEscalations(roles.Escalations)
	}
	for _, line := range slices.Concat(roles.Notes, roles.Escalations, roles.Summary) {
		fmt.Fprintln(env.Err, "pequod: "+source.Escape(line, ""))
	}
	return printRoles(env, o.output, roles)
}

// refuseEscalations returns the error for rights that need --allow-escalation, one
// line for each.
func refuseEscalations(escalations []string) error {
	var causes []error
	for _, line := range escalations {
		causes = append(causes, errors.New(line))
	}
	causes = append(causes, errors.New("these rights reach beyond the namespaces of the graphs or can be used to gain others; review the graphs and set --allow-escalation to grant them"))
	return command.ExitError{Code: command.ExitNo, Causes: causes}
}

// readResources fills in the known resources from --crd and --resource. A value
// of --resource looks like "Database.example.com=databases", and for a
// cluster-scoped kind like "Zone.example.com=zones,cluster".
func (o *rbacOptions) readResources(ctx context.Context) error {
	o.Resources = rbac.Resources{}
	err := o.EachCRD(ctx, func(definition []byte) error {
		if !o.Resources.Define(definition) {
			return errors.New("needs a valid spec.group, spec.names.kind and spec.names.plural")
		}
		return nil
	})
	if err != nil {
		return err
	}
	// The group is required: all kinds of the core group are known.
	for _, text := range o.resources {
		kind, plural, ok := strings.Cut(text, "=")
		plural, cluster := strings.CutSuffix(plural, ",cluster")
		gk := schema.ParseGroupKind(kind)
		if !ok || gk.Kind == "" || gk.Group == "" || len(validation.IsDNS1035Label(plural)) > 0 {
			return fmt.Errorf("--resource %q: want KIND.GROUP=PLURAL or KIND.GROUP=PLURAL,cluster", text)
		}
		o.Resources[gk] = rbac.Resource{Name: plural, Namespaced: !cluster}
	}
	return nil
}

// unknownKinds adds the ways to make a kind known to the error of each unknown
// kind. Each error is printed on a line of its own. The exit code is ExitUnknown,
// because roles that lack a kind would be wrong.
func unknownKinds(err error) error {
	var causes []error
	for _, err := range command.FlattenErrors(err) {
		var unknown *rbac.UnknownKindError
		if errors.As(err, &unknown) {
			err = fmt.Errorf("%w; give its CustomResourceDefinition with --crd, or name it with --resource %s=PLURAL", err, unknown.GroupKind)
		}
		causes = append(causes, err)
	}
	return command.ExitError{Code: command.ExitUnknown, Causes: causes}
}

// printRoles prints the cluster-scoped objects and then the namespaced ones,
// roles before their bindings: a binding to a role that doesn't exist is useless
// until it does. Nothing is printed if one object can't be encoded.
func printRoles(env command.Env, format string, roles *rbac.Roles) error {
	var objects [][]byte
	// add skips everything after the first error, so that the loops below need no
	// checks.
	var failed error
	add := func(object any, kind, namespace, name string) {
		if failed != nil {
			return
		}
		shown := kube.ResourceName("rbac.authorization.k8s.io", kind, name)
		if namespace != "" {
			shown = namespace + "/" + shown
		}
		data, err := output.Encode(format, object, shown)
		objects, failed = append(objects, data), err
	}
	for _, r := range roles.ClusterRoles {
		add(r, r.Kind, "", r.Name)
	}
	for _, b := range roles.ClusterRoleBindings {
		add(b, b.Kind, "", b.Name)
	}
	for _, r := range roles.Roles {
		add(r, r.Kind, r.Namespace, r.Name)
	}
	for _, b := range roles.RoleBindings {
		add(b, b.Kind, b.Namespace, b.Name)
	}
	if failed != nil {
		return failed
	}
	return output.Print(env.Out, format, objects)
}
