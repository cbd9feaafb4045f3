package review

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
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
be rendered.

With --output-dir, each file begins with a comment that marks it as written by this
command. Only such files are overwritten or, with --prune, removed. If a change of the
module changes nothing but the digest of the module in a graph, its file stays as it is.
With --check nothing is written: files that are out of date are listed, and the exit
code is 1.`,
		Example: `  # Render one instance with an embedded module
  pequod render -f app.yaml

  # Check in CI that the committed graphs are those of the instances
  pequod render -f apps/ --output-dir graphs --prune --check

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
// errors. The encoding happens in the rendering goroutines, and the output on the
// caller's goroutine. No instances at all are only a message, because --prune may
// have files to remove.
func (o *renderOptions) run(ctx context.Context, env command.Env) error {
	if err := o.validate(); err != nil {
		return err
	}
	sum, err := o.render(ctx, env)
	if err != nil {
		return sum.Fail(env, o.ReportFormat(), err)
	}
	if o.ReportFormat() != "text" {
		if err := sum.Report(env, o.ReportFormat()); err != nil {
			return err
		}
	}
	return command.ExitWith(command.ProblemsExitCode(sum.Problems))
}

// render is run without the report of a report format. Otherwise it prints problems
// on stderr, and files that are out of date on stdout.
func (o *renderOptions) render(ctx context.Context, env command.Env) (input.Checks, error) {
	if o.validates {
		catalog, err := o.SchemaFlags.LoadSchemas(ctx)
		if err != nil {
			return input.Checks{}, err
		}
		o.NodeCheck = catalog.CheckNode
	}
	w := o.NewSink("render")
	// The callback runs on one goroutine, in the order of the input.
	sum, err := input.RenderAll(ctx, env, &o.RenderFlags, o.objects, func(r input.Rendered[[]output.Object]) error {
		for _, obj := range r.Value {
			w.Add(obj, r.Instance.Pos())
		}
		return nil
	})
	if err != nil {
		return sum, err
	}
	sum.Problems = input.UniqueNotes(sum.Problems)
	if o.ReportFormat() == "text" {
		if err := input.PrintProblems(env.Err, sum); err != nil {
			return sum, err
		}
	}
	// After an interrupt, objects may be missing, and --prune would remove their
	// files.
	if err := ctx.Err(); err != nil || sum.Problems.Failed() {
		return sum, err
	}
	if len(sum.Subjects) == 0 {
		fmt.Fprintf(env.Err, "pequod: no instances in %s\n", strings.Join(o.Filenames, ", "))
	}
	stale, err := w.Commit(env)
	if err == nil && o.ReportFormat() == "text" {
		err = input.PrintStale(env, stale)
	}
	sum.Problems = append(sum.Problems, stale...)
	return sum, err
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
		obj.Keep = func(content []byte) bool { return differsInDigest(content, obj.Data) }
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

// digestField is the digest of the module in an encoded graph. No other place of a
// graph has these lines with this indentation.
var digestField = regexp.MustCompile(`\n  platformRef:\n    digest: (sha256:[0-9a-f]{64})\n`)

// differsInDigest reports whether two encoded graphs are equal but for the digest of
// the module. Their renderHash is then the same: the module changed, for example in
// a comment, and renders the same graph. The file of the graph keeps the digest of
// the module that rendered it first, so that such a change of a module changes no
// file.
func differsInDigest(committed, rendered []byte) bool {
	was, is := digestField.FindSubmatchIndex(committed), digestField.FindSubmatchIndex(rendered)
	if was == nil || is == nil || was[2] != is[2] {
		return false
	}
	return bytes.Equal(committed[:was[2]], rendered[:is[2]]) && bytes.Equal(committed[was[3]:], rendered[is[3]:])
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
	data, err := output.Encode(o.Encoding(), object, out.Key)
	out.Data = data
	// Two namespaces may have objects of one name, so Key gets the namespace after
	// -o name has used the short form.
	if namespace != "" {
		out.Key = fmt.Sprintf("%s %s/%s", short, namespace, name)
	}
	return out, err
}
