package review

import (
	"bytes"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/graphview"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/style"
)

// graphOptions are the flags of graph.
type graphOptions struct {
	// RenderFlags select the graphs: -f and the flags for rendering instances.
	input.RenderFlags
	// output is the value of -o, one of graphview.Formats.
	output string
}

// newGraphCommand returns the command "graph". It draws ResourceGraphs as well as
// the graphs of instances.
func newGraphCommand(env command.Env) *cobra.Command {
	o := &graphOptions{}
	cmd := &cobra.Command{
		Use:   "graph -f FILENAME",
		Short: "Show the waves, nodes, edges and readiness checks of graphs",
		Example: `  pequod graph -f app.yaml
  pequod graph -f app.yaml -o dot | dot -Tsvg > app.svg`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), env) },
	}
	o.RenderFlags.AddFlags(cmd)
	command.Choice(cmd, &o.output, "output", "o", "tree", graphview.Formats, "output format: "+strings.Join(graphview.Formats, ", "))
	return cmd
}

// run draws the graphs of the input. It needs no cluster. The output is built in
// memory, so that an error leaves no half of a drawing on stdout.
func (o *graphOptions) run(ctx context.Context, env command.Env) error {
	given, err := o.ReadGraphs(ctx, env)
	if err != nil {
		return err
	}
	graphs := make([]*v1alpha1.ResourceGraph, len(given))
	for i, g := range given {
		graphs[i] = g.ResourceGraph
	}
	var b bytes.Buffer
	if err := graphview.Write(&b, o.output, style.TerminalWidth(env.Out), graphs...); err != nil {
		return err
	}
	_, err = env.Out.Write(b.Bytes())
	return command.OutputError(err)
}
