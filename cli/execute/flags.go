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

// runFlags are those of the commands that change a cluster and wait.
type RunFlags struct {
	Timeout time.Duration
	Wait    bool
	Output  string
}

// runFormats are the values of -o of these commands.
var runFormats = []string{"text", "json"}

func (f *RunFlags) AddFlags(cmd *cobra.Command, wait string) {
	fl := cmd.Flags()
	fl.DurationVar(&f.Timeout, "timeout", 5*time.Minute, "give up on a graph after this time; 0 means never")
	fl.BoolVar(&f.Wait, "wait", true, wait)
	fl.StringVarP(&f.Output, "output", "o", "text", "output format: text, or json for a stream of events, one a line")
	command.Must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(runFormats, cobra.ShellCompDirectiveNoFileComp)))
}

func (f *RunFlags) Validate() error {
	if f.Timeout < 0 {
		return errors.New("--timeout: must not be negative")
	}
	return command.OneOf("--output", f.Output, runFormats)
}

const (
	// explainEvery is how often it is looked up why an object isn't ready.
	explainEvery = 2 * time.Second
	// pollEvery is how often objects that are waited for are read: it may be
	// forbidden to watch them.
	pollEvery = 30 * time.Second
	// Failed requests are tried again after these times.
	firstRetry, lastRetry = 500 * time.Millisecond, 15 * time.Second
)

// options are those that all runs have.
func (f *RunFlags) ApplierOptions() applier.Options {
	return applier.Options{
		Options: engine.Options{
			ExplainInterval: explainEvery, PollInterval: pollEvery,
			Backoff: engine.Backoff{Base: firstRetry, Max: lastRetry, Jitter: rand.Float64},
		},
		Timeout: f.Timeout, Wait: f.Wait,
	}
}
