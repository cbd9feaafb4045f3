package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/cli/output"
	"github.com/pequod-io/pequod/cli/statusview"
	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/internal/source"
)

// listedGraph is one line of the list of graphs, and its form in JSON. Its data
// comes from the inventory alone: the list reads no objects, so it can't know
// whether they are still ready.
type listedGraph struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Objects is the number of objects that the graph owns.
	Objects int `json:"objects"`
	// Complete is true if the last run finished with everything ready.
	Complete bool `json:"complete"`
	// Revision is the hash of the graph whose intent was recorded last.
	Revision string `json:"revision"`
}

// statusList is the JSON form of the list. Fields may be added; none is renamed or removed.
type statusList struct {
	Graphs []listedGraph `json:"graphs"`
	statusview.Outside
}

// list prints the graphs with an inventory, and what pequod-actions executes, in the namespace or
// with -A in all namespaces. It prints the readable ones even if some inventories can't be read.
// The exit code is 1 if the last run of a graph is incomplete or another object isn't ready,
// and 2 if an inventory can't be read.
func (o *statusOptions) list(ctx context.Context, env command.Env) error {
	if o.output == "dot" {
		return errors.New("-o dot requires names of graphs or -f")
	}
	a, err := o.Connect(kube.PrintWarnings(env.Err))
	if err != nil {
		return err
	}
	namespace := o.Namespace
	if o.allNamespaces {
		namespace = ""
	}
	inventories, failed := a.Inventories.List(ctx, namespace)
	if failed != nil && len(inventories) == 0 {
		return kube.Error(failed)
	}
	// Not nil: without graphs, JSON has an empty array and not null.
	listed := []listedGraph{}
	code := command.ExitOK
	for _, inv := range inventories {
		listed = append(listed, listedGraph{
			Namespace: inv.Owner.Namespace, Name: inv.Owner.Name, Objects: len(inv.Entries),
			Complete: inv.Complete, Revision: inv.Revision,
		})
		if !inv.Complete {
			code = command.ExitNo
		}
	}
	outside, unread := (&outsideReader{client: a.Client, env: env}).namespace(ctx, namespace)
	if !outside.Ready() {
		code = command.ExitNo
	}
	code = max(code, unread)
	if err := o.writeList(env, statusList{listed, outside}); err != nil {
		return command.OutputError(err)
	}
	// The errors of unreadable inventories follow the list of the others. The
	// answer is then incomplete, so the exit code is ExitUnknown.
	for _, err := range command.FlattenErrors(failed) {
		fmt.Fprintln(env.Err, "pequod: "+source.Escape(err.Error(), ""))
		code = command.ExitUnknown
	}
	return command.ExitWith(code)
}

// writeList prints the list in the format of -o. An empty list is a message on
// stderr, except in JSON and YAML. The table has the form of kubectl get:
//
//	NAME           OBJECTS   LAST RUN
//	web-1b2c3d4e   4         complete
//
// The tables of what pequod-actions executes follow.
func (o *statusOptions) writeList(env command.Env, list statusList) error {
	switch {
	case o.output == "json" || o.output == "yaml":
		return output.Write(env.Out, o.output, list)
	case strings.HasPrefix(o.output, "custom-columns"):
		// It prints the rows of a single list.
		return output.WriteTemplate(env.Out, o.output, map[string]any{"graphs": list.Graphs})
	case output.IsTemplate(o.output):
		return output.WriteTemplate(env.Out, o.output, list)
	case o.output == "name":
		return writeNames(env.Out, list)
	}
	if len(list.Graphs) == 0 && list.Empty() {
		where := "namespace " + o.Namespace
		if o.allNamespaces {
			where = "any namespace"
		}
		fmt.Fprintf(env.Err, "pequod: no graphs in %s\n", where)
		return nil
	}
	if len(list.Graphs) > 0 {
		if _, err := io.WriteString(env.Out, o.graphTable(list.Graphs, style.TerminalWidth(env.Out))); err != nil {
			return err
		}
	}
	return o.writeTables(env.Out, list.Outside, len(list.Graphs) > 0)
}

// writeNames prints everything as kubectl names it.
func writeNames(w io.Writer, list statusList) error {
	for _, g := range list.Graphs {
		if _, err := fmt.Fprintln(w, graphName(g.Name)); err != nil {
			return err
		}
	}
	return writeOutsideNames(w, list.Outside)
}

// writeOutsideNames prints Actions, Monitors and Receivers as kubectl names them.
func writeOutsideNames(w io.Writer, o statusview.Outside) error {
	var names []string
	add := func(kind string, s statusview.Summary) {
		names = append(names, kube.ResourceName(v1alpha1.Group, kind, s.Name))
	}
	for _, a := range o.Actions {
		add("Action", a.Summary)
	}
	for _, m := range o.Monitors {
		add("Monitor", m.Summary)
	}
	for _, r := range o.Receivers {
		add("Receiver", r.Summary)
	}
	for _, name := range names {
		if _, err := fmt.Fprintln(w, name); err != nil {
			return err
		}
	}
	return nil
}

// graphTable returns the table of graphs.
func (o *statusOptions) graphTable(listed []listedGraph, width int) string {
	header := []string{"NAME", "OBJECTS", "LAST RUN"}
	if o.allNamespaces {
		header = append([]string{"NAMESPACE"}, header...)
	}
	if o.output == "wide" {
		header = append(header, "REVISION")
	}
	var rows [][]string
	for _, g := range listed {
		state := "complete"
		if !g.Complete {
			state = "incomplete"
		}
		row := []string{g.Name, strconv.Itoa(g.Objects), state}
		if o.allNamespaces {
			row = append([]string{g.Namespace}, row...)
		}
		if o.output == "wide" {
			row = append(row, source.Escape(g.Revision, ""))
		}
		rows = append(rows, row)
	}
	return style.Table(header, rows, width)
}
