package run

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/cli/output"
	"github.com/pequod-io/pequod/cli/statusview"
	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/cli/ui/catalog"
	"github.com/pequod-io/pequod/internal/source"
)

// listedGraph is one line of the list of graphs, and its form in JSON. The state of a graph with a
// ResourceGraph is that of its status, and of any other graph that of its objects.
type listedGraph struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Ready is set if the graph is ready. Nodes is the number of its nodes, and ReadyNodes of those
	// that are ready.
	Ready      bool `json:"ready"`
	ReadyNodes int  `json:"readyNodes"`
	Nodes      int  `json:"nodes"`
	// State is one word such as Ready, Degraded or Failed, and Cause why the graph isn't ready.
	State string `json:"state"`
	Cause string `json:"cause,omitempty"`
	// Source is the kind and name of the instance.
	Source string `json:"source,omitempty"`
	// CreatedAt is when the ResourceGraph or the inventory was created.
	CreatedAt metav1.Time `json:"createdAt"`
	// Objects is the number of objects that the graph owns.
	Objects int `json:"objects"`
	// Complete is true if the last run finished with everything ready.
	Complete bool `json:"complete"`
	// Revision is the hash of the graph whose intent was recorded last.
	Revision string `json:"revision"`
}

// listed returns the line of a graph.
func listed(s catalog.Summary) listedGraph {
	g := listedGraph{
		Namespace: s.Namespace, Name: s.Name, Ready: s.IsReady, ReadyNodes: max(0, s.Ready), Nodes: s.Nodes,
		State: strings.ToUpper(string(s.State[:1])) + string(s.State[1:]), Source: s.Source, CreatedAt: metav1.NewTime(s.Created),
		Objects: s.Objects, Complete: s.Finished, Revision: s.Revision,
	}
	if s.State != catalog.Ready {
		g.Cause = s.Message
	}
	return g
}

// statusList is the JSON form of the list. Fields may be added; none is renamed or removed.
type statusList struct {
	Graphs []listedGraph `json:"graphs"`
	statusview.Outside
}

// list prints the graphs, those that need attention first, and what pequod-actions executes, in the
// namespace or with -A in all namespaces. It prints what can be read even if something can't.
// The exit code is 1 if a graph or another object isn't ready, and 2 if the list may lack something.
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
	summaries, failed := catalog.List(ctx, a, namespace)
	switch plain := kube.Error(failed); {
	case ctx.Err() != nil:
		return ctx.Err()
	case plain != failed: // an error of the connection, which every request has
		return plain
	}
	// Not nil: without graphs, JSON has an empty array and not null.
	graphs := []listedGraph{}
	code := command.ExitOK
	for _, s := range summaries {
		graphs = append(graphs, listed(s))
		if !s.IsReady {
			code = command.ExitNo
		}
	}
	outside, unread := (&outsideReader{client: a.Client, env: env}).namespace(ctx, namespace)
	if !outside.Ready() {
		code = command.ExitNo
	}
	code = max(code, unread)
	if err := o.writeList(env, statusList{graphs, outside}, failed == nil); err != nil {
		return command.OutputError(err)
	}
	// The errors follow the list of the others. The answer is then incomplete, so the exit code is
	// ExitUnknown.
	for _, err := range command.FlattenErrors(failed) {
		fmt.Fprintln(env.Err, "pequod: "+source.Escape(err.Error(), ""))
		code = command.ExitUnknown
	}
	return command.ExitWith(code)
}

// writeList prints the list in the format of -o. An empty list that is complete is a message on
// stderr, except in JSON and YAML. The table has the form of kubectl get:
//
//	NAME           READY   STATE      CAUSE                                    AGE
//	web-1b2c3d4e   1/2     Degraded   Deployment/web: Available: 0/1; pod …    3d
//
// The tables of what pequod-actions executes follow.
func (o *statusOptions) writeList(env command.Env, list statusList, complete bool) error {
	var names []string
	for _, g := range list.Graphs {
		names = append(names, graphName(g.Name))
	}
	answer := output.Answer{Root: list, Names: append(names, outsideNames(list.Outside)...), Text: func() string {
		var parts []string
		if width := style.TerminalWidth(env.Out); len(list.Graphs) > 0 {
			parts = append(parts, o.graphTable(list.Graphs, width))
		}
		return strings.Join(append(parts, o.tables(list.Outside, env.Out)...), "\n")
	}}
	if len(list.Graphs) == 0 && list.Empty() && complete {
		answer.Empty = "no graphs in " + where(o.Namespace, o.allNamespaces)
	}
	if strings.HasPrefix(o.output, "custom-columns") {
		answer.Root = map[string]any{"graphs": list.Graphs} // it prints the rows of a single list
	}
	return answer.Write(env, o.output)
}

// outsideNames returns the names of Actions, Monitors and Receivers as kubectl has them.
func outsideNames(o statusview.Outside) (names []string) {
	for _, r := range o.All() {
		names = append(names, kube.ResourceName(v1alpha1.Group, r.Kind(), r.Base().Name))
	}
	return names
}

// graphTable returns the table of graphs.
func (o *statusOptions) graphTable(graphs []listedGraph, width int) string {
	header := []string{"NAME", "READY", "STATE", "CAUSE", "AGE"}
	if o.allNamespaces {
		header = append([]string{"NAMESPACE"}, header...)
	}
	if o.output == "wide" {
		header = append(header, "SOURCE", "OBJECTS", "REVISION")
	}
	var rows [][]string
	for _, g := range graphs {
		age := duration.HumanDuration(time.Since(g.CreatedAt.Time))
		row := []string{g.Name, fmt.Sprintf("%d/%d", g.ReadyNodes, g.Nodes), g.State, orNone(g.Cause), age}
		if o.allNamespaces {
			row = append([]string{g.Namespace}, row...)
		}
		if o.output == "wide" {
			row = append(row, orNone(g.Source), strconv.Itoa(g.Objects), orNone(g.Revision))
		}
		for i := range row {
			row[i] = source.Escape(row[i], "")
		}
		rows = append(rows, row)
	}
	return style.Table(header, rows, width)
}
