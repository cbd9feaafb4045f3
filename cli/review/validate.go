package review

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/cli/report"
	"github.com/pequod-io/pequod/internal/confine"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/render"
)

// validateOptions are the flags of validate.
type validateOptions struct {
	// RenderFlags select the instances and their platforms.
	input.RenderFlags
	platform.ConfineFlags
	// output is the value of -o, one of report.Formats.
	output string
}

// newValidateCommand returns the command "validate". It differs from render in
// that it reports problems on stdout, in formats for CI systems, and prints no
// objects.
func newValidateCommand(env command.Env) *cobra.Command {
	o := &validateOptions{}
	cmd := &cobra.Command{
		Use:   "validate -f FILENAME",
		Short: "Report all problems of all instances",
		Long: `Report all problems of all instances: violations of the platform's schema, errors in
the rendered objects, and violations of policies. Each problem is one line, with its
position in the instance.

The other formats are for programs and are complete in any case, even if a module
cannot be loaded. Their files are relative to the root of the git repository.`,
		Example: `  pequod validate -f apps/
  pequod validate -f apps/ -p platforms/ -o sarif > pequod.sarif`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), env) },
	}
	o.RenderFlags.AddFlags(cmd)
	o.AddForEach(cmd)
	o.ConfineFlags.AddFlags(cmd)
	command.Choice(cmd, &o.output, "output", "o", "text", report.Formats(), "output format: "+strings.Join(report.Formats(), ", "))
	return cmd
}

// run renders all instances, drops the graphs and reports the problems. The
// summary goes to stderr, and only with text output: other formats are read by
// programs. The exit code is 1 if an instance has an error, and 2 if one could
// not be checked.
func (o *validateOptions) run(ctx context.Context, env command.Env) error {
	if err := o.Confine(ctx, confine.Room{}, &o.RenderFlags); err != nil {
		return err
	}
	sum, err := input.RenderAll(ctx, env, &o.RenderFlags,
		func(render.Result) (struct{}, problem.List) { return struct{}{}, nil },
		func(input.Rendered[struct{}]) error { return nil })
	if err != nil {
		return sum.Fail(env, o.output, err)
	}
	if err := sum.Report(env, o.output); err != nil {
		return err
	}
	if o.output == "text" {
		fmt.Fprintln(env.Err, report.Summary(sum.Problems, sum.Subjects))
	}
	return command.ExitWith(command.ProblemsExitCode(sum.Problems))
}
