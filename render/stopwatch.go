package render

import (
	"context"
	"fmt"
	"time"
)

// stopwatch measures the time since its start.
type stopwatch struct {
	began time.Time
	cpu   time.Duration // the CPU time of the process at the start
}

func newStopwatch() stopwatch { return stopwatch{time.Now(), processTime()} }

// exceeds returns which bound of time of the limits is exceeded, or "".
func (s stopwatch) exceeds(l Limits) string {
	clock := time.Since(s.began)
	switch {
	case l.Timeout <= 0 || clock <= l.Timeout:
		return ""
	case l.Clock <= 0:
		return l.Timeout.String()
	case clock > l.Clock:
		return fmt.Sprintf("%v, in which it got %v of CPU time", l.Clock, (processTime() - s.cpu).Round(time.Millisecond))
	case processTime()-s.cpu > l.Timeout: // also that of the garbage collector, so it can be more than the clock's
		return l.Timeout.String() + " of CPU time"
	}
	return ""
}

// WithLimits returns a context that ends with a [LimitError] when the time bounds of the limits are
// exceeded by all evaluations together that the caller does with it. what names them. The caller must
// call the function.
func WithLimits(ctx context.Context, limits Limits, subject Subject, what string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	watch := newStopwatch()
	go func() {
		tick := time.NewTicker(watchInterval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if bound := watch.exceeds(limits); bound != "" {
					cancel(&LimitError{subject.Name, what + " took longer than " + bound})
				}
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}
