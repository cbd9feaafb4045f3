package applier

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/applier/execute"
)

// answer is an action with its outcome.
type answer struct {
	action  engine.Action
	outcome engine.Outcome
	// unsent is set if the run ended before the action began. There is no outcome then, and
	// the engine keeps what it knows.
	unsent bool
}

// inspect drives an engine that only reads or predicts, until it has no more
// actions. The time of the engine stands still, so the engine neither retries nor
// waits; transient failures are retried here instead. The error is one without
// which no node has a meaningful status.
func (a *Applier) inspect(ctx context.Context, e *engine.Engine, now time.Time, x *execute.Executor) (engine.Phase, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		slots    = make(chan struct{}, a.concurrency())
		done     = make(chan answer)
		inFlight = 0
	)
	for {
		step := e.Step(now)
		if err := e.Err(); err != nil {
			return step.Phase, err
		}
		inFlight += len(step.Actions)
		for _, action := range step.Actions {
			go func() {
				// Goroutines are cheap; slots limit the requests.
				slots <- struct{}{}
				outcome := engine.Outcome{Err: ctx.Err()}
				if outcome.Err == nil {
					outcome = a.doOnce(ctx, x, action)
				}
				<-slots
				select {
				case done <- answer{action: action, outcome: outcome}:
				case <-ctx.Done():
				}
			}()
		}
		// No action is in flight and none was requested: the engine only waits.
		if inFlight == 0 {
			return step.Phase, nil
		}
		select {
		case got := <-done:
			inFlight--
			// Report this error itself, not the failures of nodes that it causes.
			if err := got.outcome.Err; err != nil && essential(got.action) {
				return step.Phase, err
			}
			e.Done(got.action, got.outcome)
		case <-ctx.Done():
			return step.Phase, context.Cause(ctx)
		}
	}
}

// doOnce carries out an action that the engine doesn't retry.
func (a *Applier) doOnce(ctx context.Context, x *execute.Executor, action engine.Action) engine.Outcome {
	if action.Verb == engine.Discover {
		gvk := schema.GroupVersionKind{Group: action.Key.Group, Version: action.Version, Kind: action.Key.Kind}
		_, _ = a.Client.Kinds().Await(ctx, gvk) // the action has the same error
	}
	return retryTransient(ctx, func() engine.Outcome { return x.Do(ctx, action) })
}

// essential reports whether no status is meaningful without the outcome of an
// action.
func essential(a engine.Action) bool {
	return a.Verb == engine.Survey || a.Verb == engine.LoadClaims
}

// retryTransient calls try up to six times while it fails with a transient
// failure. It returns the last outcome.
func retryTransient(ctx context.Context, try func() engine.Outcome) (o engine.Outcome) {
	// The error is that of the last outcome, or the end of ctx.
	_ = cluster.RetryIf(ctx, 100*time.Millisecond, transient, func() error {
		o = try()
		return o.Err
	})
	return o
}

// transient reports whether an action may succeed later, and the least time to wait.
func transient(err error) (time.Duration, bool) {
	var f *engine.Failure
	if !errors.As(err, &f) || f.Terminal || f.Reason != engine.ReasonApplyFailed {
		return 0, false
	}
	return f.RetryAfter, true
}
