package run

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/cli/output"
	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/internal/source"
)

// runAction reads the history of an Action and prints it.
func (o *historyOptions) runAction(ctx context.Context, env command.Env, name string) error {
	if err := kube.CheckNames(o.namespace, nil); err != nil {
		return err
	}
	runs, err := o.runs(ctx, env, name)
	if err != nil {
		return err
	}
	return command.OutputError(o.writeRuns(env, name, runs))
}

// writeRuns prints runs in the format of -o. Instead of an empty table, it prints a message on
// stderr.
func (o *historyOptions) writeRuns(env command.Env, name string, runs []run) error {
	answer := output.Answer{
		Root: map[string]any{"runs": runs}, Names: []string{kube.ResourceName(v1alpha1.Group, "Action", name)},
		Text: func() string { return runTable(runs, o.output == "wide", style.TerminalWidth(env.Out)) },
	}
	if len(runs) == 0 {
		answer.Empty = fmt.Sprintf("Action %s/%s: no run has finished%s", o.namespace, name, o.rows.within())
	}
	return answer.Write(env, o.output)
}

// within returns the part of a message about an empty table that says where was looked.
func (o *rowOptions) within() string {
	if o.from == fromPostgres || o.since != "" {
		return ", or none is in the selected history"
	}
	return " yet"
}

// runTable returns a table with a row for each run. Times are in UTC. If wide, it has the address of the
// run, and of rows of the database the UID of the Action:
//
//	RUN   GENERATION   FINISHED               RESULT      REASON   DURATION   MESSAGE
//	1     1            2026-03-01T12:00:00Z   Succeeded   Spec     1m30s      the run has succeeded
func runTable(runs []run, wide bool, width int) string {
	header := []string{"RUN", "GENERATION", "FINISHED", "RESULT", "REASON", "DURATION", "MESSAGE"}
	if wide {
		header = append(header, "URL")
	}
	stored := wide && runs[0].UID != ""
	if stored {
		header = append(header, "UID")
	}
	var rows [][]string
	for _, r := range runs {
		row := []string{
			strconv.FormatInt(r.Attempt, 10), strconv.FormatInt(r.Generation, 10), r.FinishedAt.UTC().Format(time.RFC3339),
			string(r.Result), string(r.Reason), r.FinishedAt.Sub(r.StartedAt.Time).String(), r.Message,
		}
		if wide {
			row = append(row, orNone(r.URL))
		}
		if stored {
			row = append(row, r.UID)
		}
		for i := range row {
			row[i] = source.Escape(row[i], "")
		}
		rows = append(rows, row)
	}
	return style.Table(header, rows, width)
}
