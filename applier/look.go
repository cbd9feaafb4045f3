package applier

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/pequod-io/pequod/applier/engine"
)

// look drives an engine until it has nothing more to ask, by a do that changes
// nothing in the cluster. The engine's time stands still meanwhile: it tries
// nothing again, but what may pass is tried a few times here. The error is one
// without which nothing can be told.
func (a *Applier) look(ctx context.Context, e *engine.Engine, now time.Time, do func(context.Context, engine.Action) engine.Outcome) (engine.Phase, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		slots  = make(chan struct{}, a.concurrency())
		done   = make(chan answer)
		flying = 0
	)
	for {
		step := e.Step(now)
		if err := e.Err(); err != nil {
			return step.Phase, err
		}
		flying += len(step.Actions)
		for _, action := range step.Actions {
			go func() {
				slots <- struct{}{}
				outcome := engine.Outcome{Err: ctx.Err()}
				if outcome.Err == nil {
					outcome = insist(ctx, func() engine.Outcome { return do(ctx, action) })
				}
				<-slots
				select {
				case done <- answer{action, outcome}:
				case <-ctx.Done():
				}
			}()
		}
		if flying == 0 {
			return step.Phase, nil
		}
		select {
		case got := <-done:
			flying--
			if err := got.outcome.Err; err != nil && essential(got.action) {
				return step.Phase, err
			}
			e.Done(got.action, got.outcome)
		case <-ctx.Done():
			return step.Phase, context.Cause(ctx)
		}
	}
}

// insist tries an action again while the API server has trouble.
func insist(ctx context.Context, try func() engine.Outcome) engine.Outcome {
	const tries, longest = 6, 2 * time.Second
	pause := 100 * time.Millisecond
	for range tries - 1 {
		o := try()
		var f *engine.Failure
		if !errors.As(o.Err, &f) || f.Terminal || f.Reason != engine.ReasonApplyFailed {
			return o
		}
		select {
		case <-ctx.Done():
			return o
		case <-time.After(max(pause/2+rand.N(pause), f.RetryAfter)):
		}
		pause = min(2*pause, longest)
	}
	return try()
}

// essential actions are those without which nothing can be said of any node.
func essential(a engine.Action) bool {
	return a.Verb == engine.Survey || a.Verb == engine.LoadClaims
}

func (a *Applier) concurrency() int {
	if a.Concurrency > 0 {
		return a.Concurrency
	}
	return 16
}
