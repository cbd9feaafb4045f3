package run

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/cli/output"
	"github.com/pequod-io/pequod/cli/style"
)

// listedHistory is a graph of the list in JSON.
type listedHistory struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Latest is the last finished execution, null if there is none.
	Latest *v1alpha1.Revision `json:"latest"`
}

// list prints the last execution of each graph in the namespace, or with -A in all
// namespaces.
func (o *historyOptions) list(ctx context.Context, env command.Env) error {
	a, err := o.Connect(kube.PrintWarnings(env.Err))
	if err != nil {
		return err
	}
	namespace := o.namespace
	if o.allNamespaces {
		namespace = ""
	}
	all, err := a.LatestRevisions(ctx, namespace)
	if err != nil {
		return kube.Error(err)
	}
	return command.OutputError(o.writeList(env, all))
}

// writeList prints the list in the format of -o. An empty list is a message on stderr,
// except in JSON and YAML. The table has the columns of a history after the names.
func (o *historyOptions) writeList(env command.Env, all []applier.LatestRevision) error {
	listed := []listedHistory{} // not nil: JSON has an empty array and not null
	for _, l := range all {
		listed = append(listed, listedHistory{l.Owner.Namespace, l.Owner.Name, l.Revision})
	}
	switch root := map[string]any{"graphs": listed}; {
	case o.output == "json" || o.output == "yaml":
		return output.Write(env.Out, o.output, root)
	case output.IsTemplate(o.output):
		return output.WriteTemplate(env.Out, o.output, root)
	case len(listed) == 0:
		where := "namespace " + o.namespace
		if o.allNamespaces {
			where = "any namespace"
		}
		fmt.Fprintf(env.Err, "pequod: no ResourceGraphs in %s\n", where)
		return nil
	}
	wide := o.output == "wide"
	columns := historyHeader(wide)
	header := append([]string{"NAME"}, columns...)
	if o.allNamespaces {
		header = append([]string{"NAMESPACE"}, header...)
	}
	var rows [][]string
	for _, l := range listed {
		if o.output == "name" {
			if _, err := fmt.Fprintln(env.Out, graphName(l.Name)); err != nil {
				return err
			}
			continue
		}
		row := slices.Repeat([]string{"<none>"}, len(columns))
		if l.Latest != nil {
			row = historyRow(l.Latest, wide)
		}
		row = append([]string{l.Name}, row...)
		if o.allNamespaces {
			row = append([]string{l.Namespace}, row...)
		}
		rows = append(rows, row)
	}
	if o.output == "name" {
		return nil
	}
	_, err := io.WriteString(env.Out, style.Table(header, rows, style.TerminalWidth(env.Out)))
	return err
}
