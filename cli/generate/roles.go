package generate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/rbac"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/cli/outdir"
	"github.com/pequod-io/pequod/cli/output"
)

// RoleFlags are the flags that decide about the roles for graphs.
type RoleFlags struct {
	// SchemaFlags is --crd, which here only tells the resource names of kinds.
	input.SchemaFlags
	// Options are --by-name, --watch-secrets and --default-service-account. A command
	// may set CLI and NoCauses. ReadResources fills in Resources and Constrained.
	rbac.Options
	// constrained and applier are --constrained and the value of --applier, which has
	// the form NAMESPACE/NAME.
	constrained bool
	applier     string
	// resources are the values of --resource: KIND.GROUP=PLURAL[,cluster]. They
	// win over --crd.
	resources []string
	// allowEscalation permits roles that reach beyond the namespaces of graphs, or that
	// can be used to gain others.
	allowEscalation bool
}

// AddFlags registers the flags with cmd.
func (f *RoleFlags) AddFlags(cmd *cobra.Command) {
	f.SchemaFlags.AddFlags(cmd)
	fl := cmd.Flags()
	fl.Lookup("crd").Usage = "CustomResourceDefinitions of kinds that no graph defines: a file or a directory; can be repeated"
	fl.StringVar(&f.ServiceAccount, "default-service-account", rbac.DefaultServiceAccount, "service account of graphs without spec.serviceAccountName")
	fl.StringArrayVar(&f.resources, "resource", nil,
		"resource of a kind without a definition: KIND.GROUP=PLURAL, or KIND.GROUP=PLURAL,cluster for a cluster-scoped kind; can be repeated")
	fl.BoolVar(&f.ByName, "by-name", false, "grant access only to the objects of the graphs, by name")
	fl.BoolVar(&f.allowEscalation, "allow-escalation", false, "also grant rights that reach beyond the namespaces of the graphs or can be used to gain others")
	fl.BoolVar(&f.WatchSecrets, "watch-secrets", false, "let the applier watch Secrets in all namespaces if graphs contain any")
	fl.BoolVar(&f.constrained, "constrained", false, "add roles for an applier that may only act as the accounts of the graphs, with their rights (Kubernetes 1.36)")
	fl.StringVar(&f.applier, "applier", rbac.DefaultApplier.String(), "service account of the applier for --constrained: NAMESPACE/NAME")
	for _, name := range []string{"default-service-account", "resource", "applier"} {
		command.Must(cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
}

// ReadResources fills in the known resources from --crd and --resource, and the account
// of --applier. A value of --resource looks like "Database.example.com=databases", and
// for a cluster-scoped kind like "Zone.example.com=zones,cluster".
func (f *RoleFlags) ReadResources(ctx context.Context) error {
	if !f.constrained && f.applier != rbac.DefaultApplier.String() {
		return errors.New("--applier goes with --constrained")
	}
	if f.constrained {
		namespace, name, ok := strings.Cut(f.applier, "/")
		if !ok || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
			return fmt.Errorf("--applier %q: want NAMESPACE/NAME", f.applier)
		}
		f.Constrained = types.NamespacedName{Namespace: namespace, Name: name}
	}
	f.Resources = rbac.Resources{}
	err := f.EachCRD(ctx, func(definition []byte) error {
		if !f.Resources.Define(definition) {
			return errors.New("needs a valid spec.group, spec.names.kind and spec.names.plural")
		}
		return nil
	})
	if err != nil {
		return err
	}
	// The group is required: all kinds of the core group are known.
	for _, text := range f.resources {
		kind, plural, ok := strings.Cut(text, "=")
		plural, cluster := strings.CutSuffix(plural, ",cluster")
		gk := schema.ParseGroupKind(kind)
		if !ok || gk.Kind == "" || gk.Group == "" || len(validation.IsDNS1035Label(plural)) > 0 {
			return fmt.Errorf("--resource %q: want KIND.GROUP=PLURAL or KIND.GROUP=PLURAL,cluster", text)
		}
		f.Resources[gk] = rbac.Resource{Name: plural, Namespaced: !cluster}
	}
	return nil
}

// Generate returns the roles for graphs. It needs [RoleFlags.ReadResources]. No cluster
// is involved, so kinds that are neither Kubernetes' own nor defined in the input are
// errors. Escalations are an error unless --allow-escalation is set.
func (f *RoleFlags) Generate(graphs []*v1alpha1.ResourceGraph) (*rbac.Roles, error) {
	roles, err := rbac.Generate(graphs, f.Options)
	if err != nil {
		return nil, unknownKinds(err)
	}
	if len(roles.Escalations) > 0 && !f.allowEscalation {
		return nil, refuseEscalations(roles.Escalations)
	}
	return roles, nil
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

// Roles returns the encoded objects: the cluster-scoped ones and then the namespaced
// ones, roles before their bindings, because a binding to a role that doesn't exist is
// useless until it does. encoding is one of [output.Formats].
func Roles(roles *rbac.Roles, encoding string) ([]output.Object, error) {
	var objects []output.Object
	// add skips everything after the first error, so that the loops below need no
	// checks.
	var failed error
	add := func(object any, kind, namespace, name string) {
		if failed != nil {
			return
		}
		const group = "rbac.authorization.k8s.io"
		obj := output.Object{Key: kube.ResourceName(group, kind, name), Path: outdir.Path(group, kind, namespace, name)}
		if namespace != "" {
			obj.Key = namespace + "/" + obj.Key
		}
		obj.Data, failed = output.Encode(encoding, object, obj.Key)
		objects = append(objects, obj)
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
	return objects, failed
}
