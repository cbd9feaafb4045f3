// Package execute drives the applier for several graphs at once and shows the
// results: it is the common part of all commands that run or plan graphs.
//
//   - flags.go: the flags of commands that change a cluster and wait
//   - run.go, outcome.go: run graphs; summaries, errors and the exit code
//   - progress.go: where progress is shown
//   - plan.go, obstacles.go, dryrun.go: plan graphs; what an apply would fail of
//   - live.go: a planned node as the difference of two objects
//
// The engine itself is in package applier. Commands parse their own flags and
// decide what to run.
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

// RunFlags are the flags of commands that change a cluster and wait.
type RunFlags struct {
	// Timeout limits the run of each graph; 0 means no limit.
	Timeout time.Duration
	// Wait makes a run end when everything is ready or gone. Otherwise it ends
	// when everything is applied or its deletion is requested.
	Wait bool
	// Output is one of runFormats.
	Output string
}

// runFormats are the values of -o of these commands.
var runFormats = []string{"text", "json"}

// AddFlags registers the flags with cmd. wait is the help text of --wait.
func (f *RunFlags) AddFlags(cmd *cobra.Command, wait string) {
	fl := cmd.Flags()
	fl.DurationVar(&f.Timeout, "timeout", 5*time.Minute, "time limit for each graph; 0 means no limit")
	fl.BoolVar(&f.Wait, "wait", true, wait)
	fl.StringVarP(&f.Output, "output", "o", "text", "output format: text, or json for a stream of events, one per line")
	command.CompleteValues(cmd, "output", runFormats)
}

// Validate returns an error for values that make no sense.
func (f *RunFlags) Validate() error {
	if f.Timeout < 0 {
		return errors.New("--timeout: must not be negative")
	}
	return command.OneOf("--output", f.Output, runFormats)
}

// DeletionPoll is the interval between reads of an object that is being deleted.
const DeletionPoll = time.Second

const (
	// explainEvery is the interval between lookups of the reason why an object
	// isn't ready. Each lookup costs requests for Pods and Events.
	explainEvery = 2 * time.Second
	// pollEvery is the interval between reads of objects that are waited for. It
	// is a fallback: normally a watch reports changes, but RBAC may forbid it.
	pollEvery = 30 * time.Second
	// Failed requests are retried after firstRetry at first, and after at most
	// lastRetry later.
	firstRetry, lastRetry = 500 * time.Millisecond, 15 * time.Second
)

// ApplierOptions returns the options that all runs have in common.
func (f *RunFlags) ApplierOptions() applier.Options {
	return applier.Options{
		Options: engine.Options{
			ExplainInterval: explainEvery, PollInterval: pollEvery,
			Backoff: engine.Backoff{Base: firstRetry, Max: lastRetry, Jitter: rand.Float64},
		},
		Timeout: f.Timeout, Wait: f.Wait,
	}
}
