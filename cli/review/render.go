package review

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/generate"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/outdir"
	"github.com/pequod-io/pequod/cli/output"
	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/render"
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
	// InstanceFlags are --format and --annotate.
	generate.InstanceFlags
	platform.ConfineFlags
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
code is 1.

With --for-each, each instance is rendered once for each cluster of a file, into a directory
with the name of the cluster below --output-dir. The values of the cluster fill in fields of
spec that the instance doesn't set. The annotation pequod.io/clusters of an instance is a
label selector: the instance is rendered for the clusters that it selects. With --prune, the
files of clusters that are gone are removed.`,
		Example: `  # Render one instance with an embedded module
  pequod render -f app.yaml

  # Check in CI that the committed graphs are those of the instances
  pequod render -f apps/ --output-dir graphs --prune --check

  # Render a directory of instances to a directory of manifests for Argo CD
  pequod render -f apps/ -p platforms/ --format resources --annotate argocd --output-dir out --prune

  # Render each instance for each cluster of a file, to deploy/NAME
  pequod render -f apps/ --for-each clusters.yaml --output-dir deploy --prune`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), env) },
	}
	o.RenderFlags.AddFlags(cmd)
	o.AddForEach(cmd)
	o.ObjectFlags.AddFlags(cmd)
	o.SchemaFlags.AddFlags(cmd)
	cmd.Flags().BoolVar(&o.validates, "validate", false, "check rendered objects against the schemas of Kubernetes and of --crd")
	o.InstanceFlags.AddFlags(cmd)
	o.ConfineFlags.AddFlags(cmd)
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
	if err := o.Confine(ctx, o.ObjectFlags.Room(), &o.RenderFlags); err != nil {
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
	// It runs in the rendering goroutines.
	objects := func(r render.Result) ([]output.Object, problem.List) {
		return o.InstanceFlags.Objects(r, o.Encoding())
	}
	// The callback runs on one goroutine, in the order of the input.
	sum, err := input.RenderAll(ctx, env, &o.RenderFlags, objects, func(r input.Rendered[[]output.Object]) error {
		for _, obj := range r.Value {
			obj.Path = outdir.In(r.Instance.Cluster, obj.Path)
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
	if err := o.InstanceFlags.Validate(); err != nil {
		return err
	}
	if len(o.Crds) > 0 && !o.validates {
		return fmt.Errorf("--crd requires --validate")
	}
	if len(o.ForEach) > 0 && !o.HasDir() {
		return fmt.Errorf("--for-each requires --output-dir, which gets a directory for each cluster")
	}
	return o.ObjectFlags.Validate()
}
