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
)

// finish says how it ended, and gives the error for the exit code.
func (f *RunFlags) Finish(env command.Env, sink progress.Sink, ends []progress.Outcome) error {
	sink.Close()
	if j, ok := sink.(*progress.JSON); ok {
		if err := j.Err(); err != nil {
			return command.OutputError(err)
		}
	} else {
		for _, e := range ends {
			progress.Summary(env.Err, e, command.Colored(env.Err))
		}
		if err := printOutputs(env.Out, ends); err != nil {
			return command.OutputError(err)
		}
	}
	PrintErrors(env.Err, ends)
	code := command.ExitOK
	for _, e := range ends {
		code = max(code, ExitCode(e))
	}
	if code == command.ExitOK {
		return nil
	}
	return command.ExitError{Code: code}
}

// endCode is the exit code of one graph.
func ExitCode(e progress.Outcome) int {
	var invalid *engine.InvalidError
	switch {
	case e.Ready():
		return command.ExitOK
	case e.Result != nil && e.Result.RequestError != nil:
		return command.ExitUnknown // how the objects are isn't known
	case e.Err == nil, timedOut(e.Err), errors.Is(e.Err, engine.ErrEmpty), errors.As(e.Err, &invalid):
		return command.ExitNo
	}
	return command.ExitUnknown
}

// timedOut says that an error is that the time was up, and nothing else.
func timedOut(err error) bool {
	return !slices.ContainsFunc(command.FlattenErrors(err), func(err error) bool { return !errors.Is(err, applier.ErrTimeout) })
}

// printRunErrors prints what ended runs, beyond what their summaries say. What
// is wrong with the way to the cluster is said once.
func PrintErrors(w io.Writer, ends []progress.Outcome) {
	var said []string
	for _, e := range ends {
		errs := command.FlattenErrors(e.Err)
		if e.Result != nil && e.Result.RequestError != nil && !e.Ready() {
			errs = append(errs, e.Result.RequestError)
		}
		for _, err := range errs {
			if errors.Is(err, applier.ErrTimeout) || e.Result != nil && errors.Is(err, context.Canceled) {
				continue
			}
			about := fmt.Sprintf("graph %s: ", e.Graph)
			text := "pequod: " + about + strings.TrimPrefix(err.Error(), about)
			switch plain := kube.ClusterError(err); {
			case errors.Is(err, context.Canceled):
				text = "pequod: interrupted"
			case plain.Error() != err.Error():
				text = "pequod: " + plain.Error()
			case errors.Is(err, engine.ErrEmpty):
				text += "; allow it with --allow-empty"
			}
			text = strings.ReplaceAll(text, "\n", " ")
			// Where the way to the cluster is broken, everything ends with that.
			known := func(line string) bool { return strings.HasSuffix(text, strings.TrimPrefix(line, "pequod: ")) }
			if !slices.ContainsFunc(said, known) {
				said = append(said, text)
				fmt.Fprintln(w, text)
			}
		}
	}
}

// printOutputs prints the outputs of graphs that are ready as YAML: name and
// value, below the graph where there are several.
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
	data, err := output.Encode("yaml", shown, "")
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}
