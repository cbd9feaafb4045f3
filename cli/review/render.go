package review

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/outdir"
	"github.com/pequod-io/pequod/cli/output"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/render"
	"github.com/pequod-io/pequod/render/manifests"
)

// renderOptions are the flags of render. validate refuses combinations without an
// effect, such as --annotate for graphs.
type renderOptions struct {
	// RenderFlags select the instances and their platforms.
	input.RenderFlags
	// ObjectFlags are -o, --output-dir and the pruning of that directory.
	output.ObjectFlags
	// SchemaFlags is --crd. It requires validates.
	input.SchemaFlags
	// format is "graph", the default, for ResourceGraphs, or "resources" for the
	// manifests of their nodes.
	format string
	// annotate is the GitOps tool that applies the manifests: argocd or flux. ""
	// adds no annotations. It requires format resources.
	annotate string
	// validates is --validate: it checks each rendered object against the schema
	// of its kind.
	validates bool
}

// newRenderCommand returns the command "render". It takes instances only: a
// ResourceGraph is rendered already.
func newRenderCommand(env command.Env) *cobra.Command {
	o := &renderOptions{}
	cmd := &cobra.Command{
		Use:   "render -f FILENAME",
		Short: "Render instances to ResourceGraphs or plain manifests",
		Long: `Render instances to ResourceGraphs, or with --format resources to plain manifests in
apply order.

The platform of an instance is found by its group and kind: first among those given
with -p, then among the embedded modules. Nothing is written unless all instances can
be rendered.`,
		Example: `  # Render one instance with an embedded module
  pequod render -f app.yaml

  # Render a directory of instances to a directory of manifests for Argo CD
  pequod render -f apps/ -p platforms/ --format resources --annotate argocd --output-dir out --prune`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), env) },
	}
	o.RenderFlags.AddFlags(cmd)
	o.ObjectFlags.AddFlags(cmd)
	o.SchemaFlags.AddFlags(cmd)
	cmd.Flags().BoolVar(&o.validates, "validate", false, "check rendered objects against the schemas of Kubernetes and of --crd")
	command.Choice(cmd, &o.format, "format", "", "graph", []string{"graph", "resources"}, "type of the output: graph (ResourceGraphs) or resources (plain manifests)")
	command.Choice(cmd, &o.annotate, "annotate", "", "", []string{"argocd", "flux"}, "with --format resources, add the annotations of a GitOps tool: argocd or flux")
	return cmd
}

// run renders all instances and commits the output at the end, if there were no
// errors. Objects of two instances that have the same key are an error: in a
// cluster, one would overwrite the other. The encoding happens in the rendering
// goroutines, and the output on the caller's goroutine. No instances at all are
// only a message, because --prune may have files to remove.
func (o *renderOptions) run(ctx context.Context, env command.Env) error {
	if err := o.validate(); err != nil {
		return err
	}
	if o.validates {
		catalog, err := o.SchemaFlags.LoadSchemas(ctx)
		if err != nil {
			return err
		}
		o.NodeCheck = catalog.CheckNode
	}
	w := o.NewSink("render")
	// from has the instance that rendered each key first. The callback runs on one
	// goroutine, in the order of the input, so neither variable needs a lock.
	from := map[string]problem.Position{}
	var clashes problem.List
	sum, err := input.RenderAll(ctx, env, &o.RenderFlags, o.objects, func(r input.Rendered[[]output.Object]) error {
		for _, obj := range r.Value {
			if at, ok := from[obj.Key]; ok {
				clashes = append(clashes, problem.Problem{
					Position: r.Instance.Pos(), Rule: problem.RuleDuplicate, Instance: r.Instance.String(),
					Message: fmt.Sprintf("%s is rendered by %s already", obj.Key, at),
				})
				continue
			}
			from[obj.Key] = r.Instance.Pos()
			w.Add(obj, r.Instance.Pos().String())
		}
		return nil
	})
	if err != nil {
		return err
	}
	sum.Problems = input.UniqueNotes(append(sum.Problems, clashes...))
	if err := input.PrintProblems(env.Err, sum); err != nil {
		return err
	}
	if sum.Problems.Failed() {
		return command.ExitError{Code: command.ProblemsExitCode(sum.Problems)}
	}
	// After an interrupt, objects may be missing, and --prune would remove their
	// files.
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(sum.Subjects) == 0 {
		fmt.Fprintf(env.Err, "pequod: no instances in %s\n", strings.Join(o.Filenames, ", "))
	}
	return w.Commit(env)
}

// validate checks the flags that belong together. It runs before any file is
// read.
func (o *renderOptions) validate() error {
	if o.annotate != "" && o.format != "resources" {
		return fmt.Errorf("--annotate requires --format resources")
	}
	if len(o.Crds) > 0 && !o.validates {
		return fmt.Errorf("--crd requires --validate")
	}
	return o.ObjectFlags.Validate()
}

// objects returns the encoded objects of one rendered instance: its
// ResourceGraph, or its manifests. It is called by several goroutines at once and
// changes nothing in o. A graph with features that plain manifests can't express
// is a problem of the instance.
func (o *renderOptions) objects(r render.Result) ([]output.Object, problem.List) {
	if o.format == "graph" {
		g := r.Graph
		obj, err := o.object("platform.pequod.io", g.Kind, g.Namespace, g.Name, g)
		if err != nil {
			return nil, problem.List{{Position: r.Instance.Pos(), Rule: problem.RuleGraph, Message: err.Error()}}
		}
		obj.Private = hasSecretData(g)
		return []output.Object{obj}, nil
	}
	plain, refused := manifests.Plain(r.Graph, manifests.Tool(o.annotate))
	if len(refused) > 0 {
		return nil, graphProblems(refused, r.Instance.Pos(), r.Instance.String())
	}
	var objs []output.Object
	for _, m := range plain {
		obj, err := o.object(m.GroupVersionKind().Group, m.GetKind(), m.GetNamespace(), m.GetName(), m.Object)
		if err != nil {
			return nil, problem.List{{Position: r.Instance.Pos(), Rule: problem.RuleGraph, Message: err.Error()}}
		}
		obj.Private = len(graph.LiteralSecretKeys(m.Object)) > 0
		objs = append(objs, obj)
	}
	return objs, nil
}

// hasSecretData reports whether a graph contains a Secret with literal data, which
// --allow-secrets permits.
func hasSecretData(g *v1alpha1.ResourceGraph) bool {
	return slices.ContainsFunc(g.Spec.Graph.Nodes, func(n v1alpha1.Node) bool {
		var object map[string]any
		if n.Resource == nil || json.Unmarshal(n.Resource.Raw, &object) != nil {
			return false
		}
		return len(graph.LiteralSecretKeys(object)) > 0
	})
}

// object encodes one object and names it: KIND.GROUP/NAME for -o name, with the
// namespace for messages. Its path is for --output-dir. For example, the key of a
// Deployment is "deployment.apps shop/web", and -o name prints
// "deployment.apps/web".
func (o *renderOptions) object(group, kind, namespace, name string, object any) (output.Object, error) {
	short := strings.ToLower(kind)
	if group != "" {
		short += "." + group
	}
	out := output.Object{Key: short + "/" + name, Path: outdir.Path(group, kind, namespace, name)}
	data, err := output.Encode(o.Output, object, out.Key)
	out.Data = data
	// Two namespaces may have objects of one name, so Key gets the namespace after
	// -o name has used the short form.
	if namespace != "" {
		out.Key = fmt.Sprintf("%s %s/%s", short, namespace, name)
	}
	return out, err
}
