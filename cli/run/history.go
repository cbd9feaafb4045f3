package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/cli/output"
	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/inventory"
)

// historyFormats are the values of -o of history. "wide" is the table with more
// columns.
var historyFormats = []string{"text", "wide", "json", "yaml", "name"}

// historyOptions are the flags of history.
type historyOptions struct {
	// ConnectionFlags select the cluster and the user.
	kube.ConnectionFlags
	// namespace is the namespace of the graph, or of the graphs that are listed.
	namespace string
	// allNamespaces is -A. It applies only to the list and excludes -n.
	allNamespaces bool
	// output is the value of -o, one of historyFormats or a template.
	output string
	rows   rowOptions
}

// newHistoryCommand returns the command "history".
func newHistoryCommand(env command.Env) *cobra.Command {
	o := &historyOptions{}
	cmd := &cobra.Command{
		Use:   "history [NAME | TYPE/NAME | TYPE NAME]",
		Short: "Show the finished executions of graphs and runs of Actions",
		Long: `Show the last 10 finished executions of a ResourceGraph, the newest last: how each
ended, why it began, how many objects it created, updated and deleted, and the message of
the graph's condition Ready at its end. Without a name, show the last one of each ResourceGraph in
the namespace, or with -A in all namespaces. Nothing is written.

The revision is the generation of the ResourceGraph. The reason is Spec for the first
execution of a revision, Requested if a user asked for it, Drift if objects were changed
or deleted by others, and Restart if the applier was started and found something to do.
Retries that fail again add no entry, and neither do executions that change nothing unless
a user asked for them. If there are more than 10 entries, those of other reasons than Spec
are dropped first. An object counts in one entry only. A graph that stalls before anything is executed, for example because
its service account is missing, adds none either; 'pequod status' has the reason.

With action/NAME, show the last 10 finished runs of an Action.

With --from postgres, read the history from the database in which pequod-actions stores it
with its flag --history-url-file. It has what the status doesn't have any more, also of
objects that were deleted. The newest 50 entries are shown, or with --all up to 1,000,000. The
cluster isn't asked. The file has a URL such as postgres://USER:PASSWORD@HOST/DATABASE, so that no
password is on the command line.

The applier in the cluster records the history in the status of the ResourceGraph.
Graphs that only 'pequod apply' executed have none.

Templates of -o apply to the object that -o json prints. custom-columns prints a row for
each execution or, without a name, for each graph.

The exit code is 0; or 2 if the cluster could not be reached, or has no such graph or
no ResourceGraph for it.`,
		Example: `  pequod history web-1b2c3d4e -n shop
  pequod history -n shop
  pequod history action/production-pg -n shop

  # The last 30 days, from the database
  pequod history web-1b2c3d4e -n shop --from postgres --history-url-file url.txt --since 30d

  # The reasons of failures
  pequod history web-1b2c3d4e -n shop -o jsonpath='{.revisions[?(@.result=="Failed")].message}'`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.rows.check(len(args) > 0); err != nil {
				return err
			}
			o.DefaultNamespace(&o.namespace)
			switch {
			case o.allNamespaces && (len(args) > 0 || cmd.Flags().Changed("namespace")):
				return errors.New("-A cannot be combined with a name or -n")
			case len(args) == 0:
				return o.list(cmd.Context(), env)
			}
			kind, name, err := kube.ParseObject(args)
			if err != nil {
				return err
			}
			switch own := kube.OwnKind(kind); {
			case own == "Action":
				return o.runAction(cmd.Context(), env, name)
			case own != "" && own != "ResourceGraph", own == "" && o.rows.from == fromPostgres:
				return fmt.Errorf("%q: only ResourceGraphs and Actions have a history", kind)
			case strings.Contains(args[0], "/") || len(args) > 1:
				name = cmp.Or(strings.ToLower(own), kind) + "/" + name
			}
			return o.run(cmd.Context(), env, name)
		},
	}
	o.ConnectionFlags.AddFlags(cmd)
	cmd.Flags().StringVarP(&o.namespace, "namespace", "n", "", "namespace of the graph")
	kube.FollowContext(cmd)
	cmd.Flags().BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "list the graphs of all namespaces")
	output.Choice(cmd, &o.output, "text", historyFormats)
	fl := cmd.Flags()
	command.Choice(cmd, &o.rows.from, "from", "", fromStatus, []string{fromStatus, fromPostgres}, "where the history is read: status, that of the objects in the cluster, or postgres")
	fl.StringVar(&o.rows.urlFile, "history-url-file", "", "file with the URL of the database for --from postgres")
	command.Must(cmd.MarkFlagFilename("history-url-file"))
	fl.StringVar(&o.rows.since, "since", "", "only entries that ended within this time, such as 12h or 30d")
	command.Must(cmd.RegisterFlagCompletionFunc("since", cobra.NoFileCompletions))
	fl.BoolVar(&o.rows.all, "all", false, "show up to 1,000,000 entries of the database, and not only the newest 50")
	names := kube.CompleteGraphNames(env, &o.ConnectionFlags, &o.namespace)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, given []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(given) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(cmd, given, prefix)
	}
	return cmd
}

// run reads the history of a graph and prints it. The name may be that of its instance or of an
// object, see [kube.ConnectionFlags.Graph]; the database has those of graphs only.
func (o *historyOptions) run(ctx context.Context, env command.Env, name string) error {
	owner := inventory.Owner{Namespace: o.namespace, Name: strings.TrimPrefix(name, "resourcegraph/")}
	if err := kube.CheckNames(o.namespace, nil); err != nil {
		return err
	}
	if o.rows.from != fromPostgres {
		a, err := o.Connect(kube.PrintWarnings(env.Err))
		if err != nil {
			return err
		}
		if owner, err = o.Graph(ctx, a, name, o.namespace); err != nil {
			return err
		}
	}
	revisions, err := o.revisions(ctx, env, owner)
	if err != nil {
		return err
	}
	return command.OutputError(o.write(env, owner, revisions))
}

// write prints a history in the format of -o. Instead of an empty table, it prints a
// message on stderr.
func (o *historyOptions) write(env command.Env, owner inventory.Owner, revisions []revision) error {
	answer := output.Answer{
		Root: map[string]any{"revisions": revisions}, Names: []string{graphName(owner.Name)},
		Text: func() string { return historyTable(revisions, o.output == "wide", style.TerminalWidth(env.Out)) },
	}
	if len(revisions) == 0 {
		answer.Empty = fmt.Sprintf("graph %s: no execution has finished%s", owner, o.rows.within())
	}
	return answer.Write(env, o.output)
}

// historyTable returns a table with a row for each execution. Times are in UTC. If
// wide, it has the number of nodes and the hash of the graph, too, and of rows of the database the
// UID of the graph:
//
//	REVISION   FINISHED               RESULT      REASON   CREATED   UPDATED   DELETED   DURATION   MESSAGE
//	1          2026-03-01T12:00:00Z   Completed   Spec     2         0         0         1.2s       2 objects are ready
func historyTable(revisions []revision, wide bool, width int) string {
	header := historyHeader(wide)
	if wide && revisions[0].UID != "" {
		header = append(header, "UID")
	}
	var rows [][]string
	for i := range revisions {
		row := historyRow(&revisions[i].Revision, wide)
		if len(row) < len(header) {
			row = append(row, source.Escape(revisions[i].UID, ""))
		}
		rows = append(rows, row)
	}
	return style.Table(header, rows, width)
}

// historyHeader returns the names of the columns of an execution.
func historyHeader(wide bool) []string {
	header := []string{"REVISION", "FINISHED", "RESULT", "REASON", "CREATED", "UPDATED", "DELETED", "DURATION", "MESSAGE"}
	if wide {
		header = append(header, "ATTEMPT", "NODES", "HASH")
	}
	return header
}

// historyRow returns the columns of an execution.
func historyRow(r *v1alpha1.Revision, wide bool) []string {
	row := []string{
		strconv.FormatInt(r.Revision, 10), r.FinishedAt.UTC().Format(time.RFC3339), string(r.Result),
		orNone(string(r.Reason)), strconv.Itoa(r.Created), strconv.Itoa(r.Updated), strconv.Itoa(r.Deleted), r.Duration, r.Message,
	}
	if wide {
		attempt := ""
		if r.Attempt > 0 {
			attempt = strconv.FormatInt(r.Attempt, 10)
		}
		row = append(row, orNone(attempt), strconv.Itoa(r.Nodes), r.Hash)
	}
	for i := range row {
		row[i] = source.Escape(row[i], "")
	}
	return row
}
