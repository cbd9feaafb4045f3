package run

import (
	"context"
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
	var names []string
	for _, l := range all {
		listed = append(listed, listedHistory{l.Owner.Namespace, l.Owner.Name, l.Revision})
		names = append(names, graphName(l.Owner.Name))
	}
	answer := output.Answer{Root: map[string]any{"graphs": listed}, Names: names, Text: func() string { return o.listTable(listed, style.TerminalWidth(env.Out)) }}
	if len(listed) == 0 {
		answer.Empty = "no ResourceGraphs in " + where(o.namespace, o.allNamespaces)
	}
	return answer.Write(env, o.output)
}

// listTable returns the table of a list.
func (o *historyOptions) listTable(listed []listedHistory, width int) string {
	wide := o.output == "wide"
	columns := historyHeader(wide)
	header := append([]string{"NAME"}, columns...)
	if o.allNamespaces {
		header = append([]string{"NAMESPACE"}, header...)
	}
	var rows [][]string
	for _, l := range listed {
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
	return style.Table(header, rows, width)
}

// where returns the place of a list that is empty.
func where(namespace string, all bool) string {
	if all {
		return "any namespace"
	}
	return "namespace " + namespace
}
