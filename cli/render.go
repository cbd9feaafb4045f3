package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/pequod-io/pequod/internal/problem"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/cli/outdir"
	"github.com/pequod-io/pequod/cli/report"
	"github.com/pequod-io/pequod/render"
	"github.com/pequod-io/pequod/render/manifests"
)

type renderOptions struct {
	renderFlags
	outputFlags
	schemaFlags
	format    string
	annotate  string
	validates bool
}

func newRender(s streams) *cobra.Command {
	o := &renderOptions{}
	cmd := &cobra.Command{
		Use:   "render -f FILENAME",
		Short: "Render instances to ResourceGraphs, or to plain manifests",
		Long: `Render instances to ResourceGraphs, or with --format resources to plain manifests
in apply order.

The platform of an instance is found by its group and kind: among those given
with -p, then among the embedded modules. Nothing is written unless every
instance renders.`,
		Example: `  # The ResourceGraph of one instance, with an embedded module
  pequod render -f app.yaml

  # A directory of instances to a directory of manifests for Argo CD
  pequod render -f apps/ -p platforms/ --format resources --annotate argocd --output-dir out --prune`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), s) },
	}
	o.renderFlags.add(cmd)
	o.outputFlags.add(cmd)
	o.schemaFlags.add(cmd)
	cmd.Flags().BoolVar(&o.validates, "validate", false, "check what is rendered against the schemas of its kinds, Kubernetes' own and those of --crd")
	cmd.Flags().StringVar(&o.format, "format", "graph", "what to print: graph (ResourceGraphs) or resources (plain manifests)")
	cmd.Flags().StringVar(&o.annotate, "annotate", "", "with --format resources, add the annotations that a tool needs: argocd or flux")
	must(cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"graph", "resources"}, cobra.ShellCompDirectiveNoFileComp)))
	must(cmd.RegisterFlagCompletionFunc("annotate", cobra.FixedCompletions([]string{"argocd", "flux"}, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

// outputObject is one object, encoded, with the names that its file gets.
type outputObject struct {
	data []byte
	path string
	key  string
}

func (o *renderOptions) run(ctx context.Context, s streams) error {
	if err := o.validate(); err != nil {
		return err
	}
	if o.validates {
		catalog, err := o.schemaFlags.catalog()
		if err != nil {
			return err
		}
		o.check = checkNode(catalog)
	}
	w, err := o.openFor("render")
	if err != nil {
		return err
	}
	defer w.abort()
	from := map[string]problem.Position{}
	var clashes problem.List
	sum, err := renderAll(ctx, s, &o.renderFlags, o.objects, func(r rendered[[]outputObject]) error {
		for _, obj := range r.value {
			if at, ok := from[obj.key]; ok {
				clashes = append(clashes, problem.Problem{
					Position: r.instance.Pos(), Rule: problem.RuleDuplicate, Instance: r.instance.String(),
					Message: fmt.Sprintf("%s is rendered by %s already", obj.key, at),
				})
				continue
			}
			from[obj.key] = r.instance.Pos()
			if err := w.add(obj, r.instance.Pos().String()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	sum.problems = notesOnce(append(sum.problems, clashes...))
	if err := printProblems(s.err, sum); err != nil {
		return err
	}
	if sum.problems.Failed() {
		return saidError{problemsCode(sum.problems)}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(sum.subjects) == 0 {
		fmt.Fprintf(s.err, "pequod: no instances in %s\n", strings.Join(o.filenames, ", "))
	}
	return w.commit(s)
}

func (o *renderOptions) validate() error {
	if err := oneOf("--format", o.format, []string{"graph", "resources"}); err != nil {
		return err
	}
	if o.annotate != "" {
		if err := oneOf("--annotate", o.annotate, []string{"argocd", "flux"}); err != nil {
			return err
		}
		if o.format != "resources" {
			return fmt.Errorf("--annotate goes with --format resources")
		}
	}
	if len(o.crds) > 0 && !o.validates {
		return fmt.Errorf("--crd goes with --validate")
	}
	return o.outputFlags.validate()
}

// objects gives what one instance's graph is written as.
func (o *renderOptions) objects(r render.Result) ([]outputObject, problem.List) {
	if o.format == "graph" {
		g := r.Graph
		obj, err := o.object("platform.pequod.io", g.Kind, g.Namespace, g.Name, g)
		if err != nil {
			return nil, problem.List{{Position: r.Instance.Pos(), Rule: problem.RuleGraph, Message: err.Error()}}
		}
		return []outputObject{obj}, nil
	}
	plain, refused := manifests.Plain(r.Graph, manifests.Options{Annotate: manifests.Tool(o.annotate)})
	if len(refused) > 0 {
		return nil, refusals(r.Instance, refused)
	}
	var objs []outputObject
	for _, m := range plain {
		obj, err := o.object(m.GroupVersionKind().Group, m.GetKind(), m.GetNamespace(), m.GetName(), m.Object)
		if err != nil {
			return nil, problem.List{{Position: r.Instance.Pos(), Rule: problem.RuleGraph, Message: err.Error()}}
		}
		objs = append(objs, obj)
	}
	return objs, nil
}

func (o *renderOptions) object(group, kind, namespace, name string, object any) (outputObject, error) {
	short := strings.ToLower(kind)
	if group != "" {
		short += "." + group
	}
	out := outputObject{key: short + "/" + name, path: outdir.Path(group, kind, namespace, name)}
	data, err := encode(o.output, object, out.key)
	out.data = data
	if namespace != "" {
		out.key = fmt.Sprintf("%s %s/%s", short, namespace, name)
	}
	return out, err
}

// refusals are what plain manifests can't carry, at the instance that asks for it.
func refusals(in *render.Instance, refused []graph.Problem) problem.List {
	var ps problem.List
	for _, p := range refused {
		q := p.At(in.Pos())
		q.Instance = in.String()
		ps = append(ps, q)
	}
	return ps
}

// printProblems writes problems as text, one line each.
func printProblems(w io.Writer, sum checks) error {
	if len(sum.problems) == 0 {
		return nil
	}
	return report.Write(w, "text", sum.problems, sum.subjects, report.Options{Color: colored(w)})
}
