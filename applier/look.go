package applier

import (
	"context"
	"time"

	"github.com/pequod-io/pequod/applier/engine"
)

// look drives an engine until it has nothing more to ask, by a do that changes
// nothing in the cluster. Time stands still meanwhile, so that what fails isn't
// tried again. The error is one without which nothing can be told.
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
					outcome = do(ctx, action)
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

// essential actions are those without which nothing can be said of any node.
func essential(a engine.Action) bool {
	return a.Verb == engine.Survey || a.Verb == engine.Others
}

func (a *Applier) concurrency() int {
	if a.Concurrency > 0 {
		return a.Concurrency
	}
	return 16
}
