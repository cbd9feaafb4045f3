package review

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/graphview"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/cli/output"
	"github.com/pequod-io/pequod/cli/style"
)

// graphOptions are the flags of graph.
type graphOptions struct {
	// RenderFlags select the graphs: -f and the flags for rendering instances.
	input.RenderFlags
	// output is the value of -o: one of graphview.Formats, yaml, name or a template.
	output string
}

// newGraphCommand returns the command "graph". It draws ResourceGraphs as well as
// the graphs of instances.
func newGraphCommand(env command.Env) *cobra.Command {
	o := &graphOptions{}
	cmd := &cobra.Command{
		Use:   "graph -f FILENAME",
		Short: "Show the waves, nodes, edges and readiness checks of graphs",
		Long: `Show the waves, nodes, edges and readiness checks of graphs.

Arrows lead from a node to those that wait for it. An arrow that others imply is
left out: if b waits for a, and c for b, then c waits for a, too. Graphs with too many
arrows for a drawing aren't drawn. -o json has all dependencies of any graph.`,
		Example: `  pequod graph -f app.yaml
  pequod graph -f app.yaml -o svg > app.svg
  pequod graph -f app.yaml -o html > app.html

  # The kinds of all nodes; a template sees the list of -o json as items
  pequod graph -f app.yaml -o jsonpath='{.items[*].nodes[*].kind}'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), env) },
	}
	o.RenderFlags.AddFlags(cmd)
	output.Choice(cmd, &o.output, "tree", slices.Concat(graphview.Formats, []string{"yaml", "name"}))
	return cmd
}

// run draws the graphs of the input. It needs no cluster. The output is built in
// memory, so that an error leaves no half of a drawing on stdout.
func (o *graphOptions) run(ctx context.Context, env command.Env) error {
	given, err := o.ReadGraphs(ctx, env)
	if err != nil {
		return err
	}
	defer boundGarbage()() // a drawing may be much larger than the graph
	graphs := make([]*v1alpha1.ResourceGraph, len(given))
	for i, g := range given {
		graphs[i] = g.ResourceGraph
	}
	var b bytes.Buffer
	if o.output == "name" {
		for _, rg := range graphs {
			fmt.Fprintln(&b, kube.ResourceName(v1alpha1.GroupVersion.Group, "ResourceGraph", rg.Name))
		}
		_, err := env.Out.Write(b.Bytes())
		return command.OutputError(err)
	}
	if o.output == "yaml" || output.IsTemplate(o.output) {
		// Both print the object of the json format.
		if err := graphview.Write(&b, "json", 0, graphs...); err != nil {
			return err
		}
		if o.output == "yaml" {
			return command.OutputError(output.Write(env.Out, o.output, json.RawMessage(b.Bytes())))
		}
		return output.WriteTemplate(env.Out, o.output, json.RawMessage(b.Bytes()))
	}
	if err := graphview.Write(&b, o.output, style.TerminalWidth(env.Out), graphs...); err != nil {
		return err
	}
	_, err = env.Out.Write(b.Bytes())
	return command.OutputError(err)
}
