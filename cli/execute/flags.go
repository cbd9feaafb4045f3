// Package execute drives the applier for several graphs at once and shows the
// results: it is the common part of all commands that run or plan graphs.
//
//   - flags.go: the flags of commands that change a cluster and wait
//   - run.go, outcome.go: run graphs; summaries, errors and the exit code
//   - progress.go: where progress is shown
//   - plan.go, obstacles.go, dryrun.go: plan graphs; why an apply would fail
//   - live.go: a planned node as the difference of two objects
//   - livediff.go: the difference of plans, with the consequences of its changes
//
// A command that runs graphs calls, in this order:
//
//	sink := flags.OpenSink(env, graphs)                      // display of progress
//	ends := execute.RunEach(ctx, sink, verb, owners, run)    // all graphs
//	return flags.Finish(env, sink, ends)                     // results, exit code
//
// A command that only predicts calls [PlanEach], or [DryRun] for a list of
// changes.
//
// The engine itself is in package applier, and the displays are in cli/progress.
// Commands parse their own flags and decide which graphs to run.
package execute

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/cli/command"
)

// RunFlags are the flags of commands that change a cluster and wait: apply,
// delete and install.
type RunFlags struct {
	// Timeout limits the run of each graph; 0 means no limit. The time that a graph
	// waits for one of the MaxConcurrent places doesn't count.
	Timeout time.Duration
	// Wait makes a run end when everything is ready or gone. Otherwise it ends
	// when everything is applied or its deletion is requested. It is on by default.
	Wait bool
	// Output is the value of -o, one of runFormats. It selects the sink of progress
	// and the form of the results.
	Output string
}

// runFormats are the values of -o of these commands. "json" is a stream of events
// on stdout, instead of progress on stderr and outputs on stdout.
var runFormats = []string{"text", "json"}

// AddFlags registers the flags with cmd. wait is the help text of --wait, which
// differs between commands that apply and commands that delete.
func (f *RunFlags) AddFlags(cmd *cobra.Command, wait string) {
	fl := cmd.Flags()
	fl.DurationVar(&f.Timeout, "timeout", 5*time.Minute, "time limit for each graph; 0 means no limit")
	fl.BoolVar(&f.Wait, "wait", true, wait)
	command.Choice(cmd, &f.Output, "output", "o", "text", runFormats, "output format: text, or json for a stream of events, one per line")
}

// Validate returns an error for values that make no sense. Callers check their
// own flags, too, before they read any input.
func (f *RunFlags) Validate() error {
	if f.Timeout < 0 {
		return errors.New("--timeout: must not be negative")
	}
	return nil
}

// DeletionPoll is the time after which objects that are being deleted are read if their
// watch is silent. It is shorter than pollEvery, because a user watches a deletion and expects it
// to end soon.
const DeletionPoll = time.Second

const (
	// explainEvery is the interval between lookups of the reason why an object
	// isn't ready. Each lookup costs requests for Pods and Events.
	explainEvery = 2 * time.Second
	// pollEvery is the time after which objects that are waited for are read if their
	// watch is silent. It may be broken, or RBAC may forbid it.
	pollEvery = 30 * time.Second
	// Failed requests are retried after firstRetry at first, and after at most
	// lastRetry later.
	firstRetry, lastRetry = 500 * time.Millisecond, 15 * time.Second
)

// ApplierOptions returns the options that all runs have in common. Callers set
// the others, such as Prune and Report. Retries are jittered, so that concurrent
// runs don't hit the API server at the same time.
func (f *RunFlags) ApplierOptions() applier.Options {
	return applier.Options{
		Options: engine.Options{
			ExplainInterval: explainEvery, PollInterval: pollEvery,
			Backoff: engine.Backoff{Base: firstRetry, Max: lastRetry, Jitter: rand.Float64},
		},
		Timeout: f.Timeout, Wait: f.Wait,
	}
}
