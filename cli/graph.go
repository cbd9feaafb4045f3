package cli

import (
	"bytes"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/graphview"
)

type graphOptions struct {
	renderFlags
	output string
}

func newGraph(s streams) *cobra.Command {
	o := &graphOptions{}
	cmd := &cobra.Command{
		Use:   "graph -f FILENAME",
		Short: "Show graphs, and those of instances: waves, nodes, edges and readiness",
		Example: `  pequod graph -f app.yaml
  pequod graph -f app.yaml -o dot | dot -Tsvg > app.svg`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), s) },
	}
	o.renderFlags.add(cmd)
	cmd.Flags().StringVarP(&o.output, "output", "o", "tree", "output format: "+strings.Join(graphFormats(), ", "))
	must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(graphFormats(), cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

func (o *graphOptions) run(ctx context.Context, s streams) error {
	if err := oneOf("--output", o.output, graphFormats()); err != nil {
		return err
	}
	given, err := o.graphs(ctx, s)
	if err != nil {
		return err
	}
	graphs := make([]*v1alpha1.ResourceGraph, len(given))
	for i, g := range given {
		graphs[i] = g.ResourceGraph
	}
	var b bytes.Buffer
	if err := graphview.Write(&b, graphview.Format(o.output), graphs...); err != nil {
		return err
	}
	_, err = s.out.Write(b.Bytes())
	return outputError(err)
}

func graphFormats() []string {
	var names []string
	for _, f := range graphview.Formats() {
		names = append(names, string(f))
	}
	return names
}
