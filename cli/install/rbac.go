package install

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/rbac"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/output"
	"github.com/pequod-io/pequod/internal/source"
)

type rbacOptions struct {
	input.RenderFlags
	input.SchemaFlags
	rbac.Options
	resources []string
	causes    bool
	output    string
}

func newRBACGenerateCommand(env command.Env) *cobra.Command {
	o := &rbacOptions{}
	o.AllowRevisions = true
	cmd := &cobra.Command{
		Use:   "generate -f FILENAME",
		Short: "Print the least that the accounts of graphs must be allowed",
		Long: `Print the least that the accounts of graphs must be allowed, so that the applier
can execute them as these accounts.

The account of a graph is its spec.serviceAccountName, else
--default-service-account, in the graph's namespace. For each account there is a
Role with its RoleBinding in every namespace that has objects of its graphs, and a
ClusterRole with its ClusterRoleBinding for objects outside of namespaces. The
rules of all graphs of an account are put together.

In a namespace the account gets whole kinds, so that it can also remove what left
its graph; with --by-name, the objects of the graphs alone. Outside of namespaces,
and to objects that are only read, it always gets these objects alone. An object that
left its graph is then removed only if the graph as it was is given too: a graph may
be given in several revisions. And what others changed isn't seen of kinds that the
applier may not watch.

A ClusterRole for each account, labelled ` + rbac.LabelAggregate + `, lets
the applier itself watch these kinds. Secrets are not among them unless
--watch-secrets says so: they are polled as the account.

The resource of a kind stands in its CustomResourceDefinition: in a graph, or in
what --crd names. It is never guessed.`,
		Example: `  # For what was rendered before
  pequod rbac generate -f graphs/ -R > rbac.yaml

  # For instances, rendered on the way, and for the graphs as they were before
  pequod rbac generate -f apps/ -f before/graphs/ -R -p platforms/`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), env) },
	}
	o.RenderFlags.AddFlags(cmd)
	o.SchemaFlags.AddFlags(cmd)
	fl := cmd.Flags()
	fl.Lookup("filename").Usage = "ResourceGraphs and instances: a YAML or JSON file, a directory, or - for stdin; repeatable"
	fl.Lookup("namespace").Usage = "namespace of graphs and instances that name none"
	fl.Lookup("crd").Usage = "CustomResourceDefinitions of kinds that neither Kubernetes nor a graph defines: a file, or a directory; repeatable"
	fl.StringVar(&o.ServiceAccount, "default-service-account", rbac.DefaultServiceAccount, "account of graphs that name none")
	fl.StringArrayVar(&o.resources, "resource", nil,
		"resource of a kind whose definition isn't at hand, as KIND.GROUP=PLURAL, or KIND.GROUP=PLURAL,cluster outside of namespaces; repeatable")
	fl.BoolVar(&o.ByName, "by-name", false, "grant access to the objects of the graphs alone, by their names")
	fl.BoolVar(&o.CLI, "for-cli", false, "add what an account needs that runs pequod apply and delete: inventories in ConfigMaps and in ResourceGraphs, watches")
	fl.BoolVar(&o.causes, "causes", true, "add what is only read to say why an object isn't ready: Pods, ReplicaSets and Events")
	fl.BoolVar(&o.WatchSecrets, "watch-secrets", false, "let the applier watch the Secrets of all namespaces, if graphs have any")
	fl.StringVarP(&o.output, "output", "o", "yaml", "output format: "+strings.Join(output.Formats, ", "))
	command.Must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(output.Formats, cobra.ShellCompDirectiveNoFileComp)))
	for _, name := range []string{"default-service-account", "resource"} {
		command.Must(cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
	return cmd
}

func (o *rbacOptions) run(ctx context.Context, env command.Env) error {
	if err := command.OneOf("--output", o.output, output.Formats); err != nil {
		return err
	}
	if err := o.readResources(); err != nil {
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
	for _, note := range roles.Notes {
		fmt.Fprintln(env.Err, "pequod: "+source.Escape(note, ""))
	}
	return printRoles(env, o.output, roles)
}

// readResources takes the definitions of --crd and the words of --resource.
func (o *rbacOptions) readResources() error {
	o.Resources = rbac.Resources{}
	err := o.EachCRD(func(definition []byte) error {
		if !o.Resources.Define(definition) {
			return errors.New("needs spec.group, spec.names.kind and spec.names.plural")
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, text := range o.resources {
		kind, plural, ok := strings.Cut(text, "=")
		plural, cluster := strings.CutSuffix(plural, ",cluster")
		gk := schema.ParseGroupKind(kind)
		if !ok || gk.Kind == "" || gk.Group == "" || plural == "" || strings.ContainsAny(plural, ",.") {
			return fmt.Errorf("--resource %q: want KIND.GROUP=PLURAL or KIND.GROUP=PLURAL,cluster", text)
		}
		o.Resources[gk] = rbac.Resource{Name: plural, Namespaced: !cluster}
	}
	return nil
}

// unknownKinds returns one error for each unknown kind, with how to make it known.
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

// printRoles prints the roles, and their bindings after them.
func printRoles(env command.Env, format string, roles *rbac.Roles) error {
	p := output.NewPrinter(format)
	defer p.Close() // what it can't remove is a temporary file
	var failed error
	add := func(object any, kind, namespace, name string) {
		if failed != nil {
			return
		}
		shown := strings.ToLower(kind) + ".rbac.authorization.k8s.io/" + name
		if namespace != "" {
			shown = namespace + "/" + shown
		}
		data, err := output.Encode(format, object, shown)
		if err == nil {
			err = p.Print(data)
		}
		failed = err
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
	return p.Flush(env.Out)
}
