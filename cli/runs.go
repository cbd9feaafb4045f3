package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"golang.org/x/term"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/cli/progress"
	"github.com/pequod-io/pequod/inventory"
)

// runFlags are those of the commands that change a cluster and wait.
type runFlags struct {
	timeout time.Duration
	wait    bool
	output  string
}

// runFormats are the values of -o of these commands.
var runFormats = []string{"text", "json"}

func (f *runFlags) add(cmd *cobra.Command, wait string) {
	fl := cmd.Flags()
	fl.DurationVar(&f.timeout, "timeout", 5*time.Minute, "give up on a graph after this time; 0 means never")
	fl.BoolVar(&f.wait, "wait", true, wait)
	fl.StringVarP(&f.output, "output", "o", "text", "output format: text, or json for a stream of events, one a line")
	must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(runFormats, cobra.ShellCompDirectiveNoFileComp)))
}

func (f *runFlags) validate() error {
	if f.timeout < 0 {
		return errors.New("--timeout: must not be negative")
	}
	return oneOf("--output", f.output, runFormats)
}

const (
	// graphsAtOnce bounds how many graphs are under way.
	graphsAtOnce = 8
	// explainEvery is how often it is looked up why an object isn't ready.
	explainEvery = 2 * time.Second
	// pollEvery is how often objects that are waited for are read: it may be
	// forbidden to watch them.
	pollEvery = 30 * time.Second
	// Failed requests are tried again after these times.
	firstRetry, lastRetry = 500 * time.Millisecond, 15 * time.Second
)

// options are those that all runs have.
func (f *runFlags) options() applier.Options {
	return applier.Options{
		Options: engine.Options{
			ExplainInterval: explainEvery, PollInterval: pollEvery,
			Backoff: engine.Backoff{Base: firstRetry, Max: lastRetry, Jitter: rand.Float64},
		},
		Timeout: f.timeout, Wait: f.wait,
	}
}

// sink chooses how progress is shown: as events on stdout, else on stderr, live
// on a terminal.
func (f *runFlags) sink(s streams, graphs []progress.Graph) progress.Sink {
	if f.output == "json" {
		return progress.NewJSON(s.out, time.Now)
	}
	if t, ok := terminal(s.err); ok {
		return progress.NewLive(t, graphs)
	}
	return progress.NewLines(s.err, graphs)
}

// terminal is the terminal that w is, if a tree may be drawn on it.
func terminal(w io.Writer) (progress.Terminal, bool) {
	file, ok := w.(*os.File)
	if !ok || !colored(w) || !term.IsTerminal(int(file.Fd())) {
		return progress.Terminal{}, false
	}
	return progress.Terminal{
		Writer: file, Color: true, Now: time.Now,
		Size: func() (width, height int) {
			width, height, err := term.GetSize(int(file.Fd()))
			if err != nil {
				return 0, 0
			}
			return width, height
		},
	}, true
}

// runEach runs graphs beside each other, tells the sink, and gives how it ended
// for each, in their order.
func runEach(ctx context.Context, sink progress.Sink, verb progress.Verb, graphs []inventory.Owner,
	run func(context.Context, int, func(applier.Event)) (*applier.Result, error),
) []progress.End {
	ends := make([]progress.End, len(graphs))
	var g errgroup.Group
	g.SetLimit(graphsAtOnce)
	for i, owner := range graphs {
		g.Go(func() error {
			began := time.Now()
			result, err := run(ctx, i, func(e applier.Event) { sink.Change(owner, e) })
			ends[i] = progress.End{Graph: owner, Verb: verb, Result: result, Err: err, Elapsed: time.Since(began)}
			sink.End(ends[i])
			return nil // how each ended is in ends
		})
	}
	_ = g.Wait() // never an error
	return ends
}

// finish says how it ended, and gives the error for the exit code.
func (f *runFlags) finish(s streams, sink progress.Sink, ends []progress.End) error {
	sink.Close()
	if j, ok := sink.(*progress.JSON); ok {
		if err := j.Err(); err != nil {
			return outputError(err)
		}
	} else {
		for _, e := range ends {
			progress.Summary(s.err, e, colored(s.err))
		}
		if err := printOutputs(s.out, ends); err != nil {
			return outputError(err)
		}
	}
	printRunErrors(s.err, ends)
	code := exitYes
	for _, e := range ends {
		code = max(code, endCode(e))
	}
	if code == exitYes {
		return nil
	}
	return saidError{code}
}

// endCode is the exit code of one graph.
func endCode(e progress.End) int {
	var invalid *engine.InvalidError
	switch {
	case e.Ready():
		return exitYes
	case e.Result != nil && e.Result.RequestError != nil:
		return exitNoAnswer // how the objects are isn't known
	case e.Err == nil, timedOut(e.Err), errors.Is(e.Err, engine.ErrEmpty), errors.As(e.Err, &invalid):
		return exitNo
	}
	return exitNoAnswer
}

// timedOut says that an error is that the time was up, and nothing else.
func timedOut(err error) bool {
	return !slices.ContainsFunc(allErrors(err), func(err error) bool { return !errors.Is(err, applier.ErrTimeout) })
}

// printRunErrors prints what ended runs, beyond what their summaries say. What
// is wrong with the way to the cluster is said once.
func printRunErrors(w io.Writer, ends []progress.End) {
	var said []string
	for _, e := range ends {
		errs := allErrors(e.Err)
		if e.Result != nil && e.Result.RequestError != nil && !e.Ready() {
			errs = append(errs, e.Result.RequestError)
		}
		for _, err := range errs {
			if errors.Is(err, applier.ErrTimeout) || e.Result != nil && errors.Is(err, context.Canceled) {
				continue
			}
			about := fmt.Sprintf("graph %s: ", e.Graph)
			text := "pequod: " + about + strings.TrimPrefix(err.Error(), about)
			switch plain := clusterError(err); {
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

// allErrors takes joined errors apart.
func allErrors(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, err := range joined.Unwrap() {
		all = append(all, allErrors(err)...)
	}
	return all
}

// printOutputs prints the outputs of graphs that are ready as YAML: name and
// value, below the graph where there are several.
func printOutputs(w io.Writer, ends []progress.End) error {
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
	data, err := encode("yaml", shown, "")
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}
