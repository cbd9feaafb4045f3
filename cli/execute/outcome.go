package execute

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/cli/output"
	"github.com/pequod-io/pequod/cli/progress"
	"github.com/pequod-io/pequod/cli/style"
)

// Finish closes the sink and prints the summaries, outputs and errors of runs
// that ended. It returns the error for the exit code: the highest one of all
// graphs. Summaries and errors go to stderr, and outputs to stdout, so that a
// script can read the outputs.
func (f *RunFlags) Finish(env command.Env, sink progress.Sink, ends []progress.Outcome) error {
	sink.Close()
	// JSON has written the results as events already. Only its write errors are
	// left to report.
	if j, ok := sink.(*progress.JSON); ok {
		if err := j.Err(); err != nil {
			return command.OutputError(err)
		}
	} else {
		for _, e := range ends {
			progress.Summary(env.Err, e, style.Colored(env.Err))
		}
		if err := printOutputs(env.Out, ends); err != nil {
			return command.OutputError(err)
		}
	}
	printErrors(env.Err, ends)
	code := command.ExitOK
	for _, e := range ends {
		code = max(code, exitCode(e))
	}
	return command.ExitWith(code)
}

// exitCode returns the exit code for the run of one graph: ExitOK if it is ready,
// ExitNo if its result is certain, and ExitUnknown otherwise, for example after
// an interrupt or a lost connection.
func exitCode(e progress.Outcome) int {
	var invalid *engine.InvalidError
	switch {
	case e.Ready():
		return command.ExitOK
	case e.Result != nil && e.Result.RequestError != nil:
		return command.ExitUnknown // the state of the objects is unknown
	// The run ended by itself without being ready, ran out of time, or was refused
	// because of its input: the answer is no.
	case e.Err == nil, timedOut(e.Err), errors.Is(e.Err, engine.ErrEmpty), errors.As(e.Err, &invalid):
		return command.ExitNo
	}
	return command.ExitUnknown
}

// timedOut reports whether err is a timeout and nothing else. A timeout together
// with another error, such as a failed save, is not an answer.
func timedOut(err error) bool {
	return !slices.ContainsFunc(command.FlattenErrors(err), func(err error) bool { return !errors.Is(err, applier.ErrTimeout) })
}

// printErrors prints the errors that ended runs, unless their summaries have the
// same text. An error of the connection to the cluster is printed once for all
// graphs. Each error is one line, and newlines in it become spaces.
func printErrors(w io.Writer, ends []progress.Outcome) {
	var printed []string
	for _, e := range ends {
		errs := command.FlattenErrors(e.Err)
		if e.Result != nil && e.Result.RequestError != nil && !e.Ready() {
			errs = append(errs, e.Result.RequestError)
		}
		for _, err := range errs {
			// The summary of the graph has these already.
			if errors.Is(err, applier.ErrTimeout) || e.Result != nil && errors.Is(err, context.Canceled) {
				continue
			}
			about := fmt.Sprintf("graph %s: ", e.Graph)
			text := "pequod: " + about + strings.TrimPrefix(err.Error(), about)
			switch plain := kube.Error(err); {
			case errors.Is(err, context.Canceled):
				text = "pequod: interrupted"
			case plain.Error() != err.Error():
				text = "pequod: " + plain.Error()
			case errors.Is(err, engine.ErrEmpty):
				text += "; allow it with --allow-empty"
			}
			text = strings.ReplaceAll(text, "\n", " ")
			// If the connection is broken, every other error wraps the same cause,
			// so a line that ends like an earlier one adds nothing.
			known := func(line string) bool { return strings.HasSuffix(text, strings.TrimPrefix(line, "pequod: ")) }
			if !slices.ContainsFunc(printed, known) {
				printed = append(printed, text)
				fmt.Fprintln(w, text)
			}
		}
	}
}

// printOutputs prints the outputs of ready graphs as a YAML mapping from name to
// value. With several graphs, the outputs are nested below namespace/name. Graphs
// that are not ready have no final outputs and are left out.
func printOutputs(w io.Writer, ends []progress.Outcome) error {
	outputs := map[string]any{}
	for _, e := range ends {
		if e.Ready() && len(e.Result.Outputs) > 0 {
			outputs[e.Graph.String()] = e.Result.Outputs
		}
	}
	if len(outputs) == 0 {
		return nil
	}
	var shown any = outputs
	if len(ends) == 1 {
		shown = ends[0].Result.Outputs
	}
	return output.Write(w, "yaml", shown)
}
