package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/pequod-io/pequod/internal/problem"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/report"
	"github.com/pequod-io/pequod/render"
)

type validateOptions struct {
	renderFlags
	output string
}

func newValidate(s streams) *cobra.Command {
	o := &validateOptions{}
	cmd := &cobra.Command{
		Use:   "validate -f FILENAME",
		Short: "Report every problem of every instance at once",
		Long: `Report every problem of every instance at once: against the platform's schema,
what the platform renders, and policy. Each mistake is one line, at its place in
the instance.`,
		Example: `  pequod validate -f apps/
  pequod validate -f apps/ -p platforms/ -o sarif > pequod.sarif`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), s) },
	}
	o.renderFlags.add(cmd)
	cmd.Flags().StringVarP(&o.output, "output", "o", "text", "output format: "+strings.Join(report.Formats(), ", "))
	must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(report.Formats(), cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

func (o *validateOptions) run(ctx context.Context, s streams) error {
	if err := oneOf("--output", o.output, report.Formats()); err != nil {
		return err
	}
	sum, err := renderAll(ctx, s, &o.renderFlags,
		func(render.Result) (struct{}, problem.List) { return struct{}{}, nil },
		func(rendered[struct{}]) error { return nil })
	if err != nil {
		return err
	}
	err = report.Write(s.out, o.output, sum.problems, sum.subjects, report.Options{Color: colored(s.out), Version: programVersion()})
	if err != nil {
		return outputError(err)
	}
	if o.output == "text" {
		fmt.Fprintln(s.err, report.Summary(sum.problems, sum.subjects))
	}
	if sum.problems.Failed() {
		return saidError{problemsCode(sum.problems)}
	}
	return nil
}
