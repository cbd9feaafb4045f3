package pipeline

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/cli/generate"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/output"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/render"
)

// fnOptions are the flags of fn.
type fnOptions struct {
	// RenderFlags select the platforms. The files are those of the input list.
	input.RenderFlags
	// InstanceFlags are --format and --annotate.
	generate.InstanceFlags
}

// newFnCommand returns the command "fn".
func newFnCommand(env command.Env) *cobra.Command {
	o := &fnOptions{}
	cmd := &cobra.Command{
		Use:   "fn",
		Short: "Render instances as a KRM function of kustomize or kpt",
		Long: `Render instances as a KRM function: stdin is a ResourceList, and stdout the same list with
each instance replaced by what it renders. Other items stay as they are.

In kustomize, an instance with the annotation config.kubernetes.io/function is a
generator: it is the configuration of the function, and what it renders is added. kustomize
runs the function only with --enable-alpha-plugins --enable-exec. As a transformer, the
function renders all instances among the resources.

Problems are in the results of the list and on stderr. With an error the exit code is
1, and the list has its items as they were.`,
		Example: `  # An instance as a generator of a kustomization
  apiVersion: pequod.io/v1alpha1
  kind: WebService
  metadata:
    name: web
    annotations:
      config.kubernetes.io/function: |
        exec: {path: pequod, args: [fn, --format=resources]}
  spec: {image: "ghcr.io/shop/web:1.4.0", port: 8080}`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), env) },
	}
	o.RenderFlags.AddFlags(cmd)
	for _, name := range []string{"filename", "recursive"} {
		command.Must(cmd.Flags().MarkHidden(name)) // the input is stdin
	}
	o.InstanceFlags.AddFlags(cmd)
	return cmd
}

// run reads the list, renders the instances in it and writes the list.
func (o *fnOptions) run(ctx context.Context, env command.Env) error {
	if err := o.InstanceFlags.Validate(); err != nil {
		return err
	}
	data, err := files.ReadStdin(ctx, env.In)
	if err != nil {
		return err
	}
	list, err := readResourceList(data)
	if err != nil {
		return err
	}
	catalog, err := o.LoadPlatforms(ctx)
	if err != nil {
		return err
	}
	whole := list.Items
	found, err := list.instances(ctx, catalog.Knows)
	if err != nil {
		return err
	}
	rendered, problems, err := o.render(ctx, env, &found)
	if err != nil {
		return err
	}
	list.Results = append(list.Results, resultsOf(problems)...)
	list.Items = append(list.Items, rendered...)
	if problems.Failed() {
		list.Items = whole
	}
	if list.Items == nil {
		list.Items = []map[string]any{}
	}
	if err := output.Write(env.Out, "yaml", list); err != nil {
		return command.OutputError(err)
	}
	return command.ExitWith(command.ProblemsExitCode(problems))
}

// render returns the objects of all instances, in their order. It prints problems on
// stderr, because kustomize shows nothing else of a function that fails.
func (o *fnOptions) render(ctx context.Context, env command.Env, found *documents) ([]map[string]any, problem.List, error) {
	if len(found.ends) == 0 {
		return nil, nil, nil
	}
	o.Filenames = []string{"-"}
	env.In = &found.stream
	objects := func(r render.Result) ([]map[string]any, problem.List) {
		encoded, problems := o.Objects(r, "json")
		var all []map[string]any
		for _, e := range encoded {
			var object map[string]any
			if err := utiljson.Unmarshal(e.Data, &object); err != nil {
				return nil, problem.List{{Message: fmt.Sprintf("reading the rendered %s: %v", e.Key, err), Rule: problem.RuleGraph}}
			}
			all = append(all, object)
		}
		return all, problems
	}
	var all []map[string]any
	sum, err := input.RenderAll(ctx, env, &o.RenderFlags, objects, func(r input.Rendered[[]map[string]any]) error {
		all = append(all, r.Value...)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	sum.Problems = found.origins(input.UniqueNotes(sum.Problems))
	return all, sum.Problems, input.PrintProblems(env.Err, sum)
}
