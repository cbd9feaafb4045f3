package controller

import (
	"context"
	"time"
)

const (
	// restTime is how long no graph is stepped when the controller is at rest.
	restTime = 10 * time.Second
	// muchWork is the number of steps after which it is worth the time of a garbage
	// collection to give memory back. A graph of a few objects takes about ten.
	muchWork = 500
)

// work notices that much work is over. It gets the number of steps so far at intervals of
// restTime.
type work struct{ last, handled int64 }

// over reports whether there was no step since the last call, after muchWork.
func (w *work) over(steps int64) bool {
	rests := steps == w.last
	w.last = steps
	if !rests || steps-w.handled < muchWork {
		return false
	}
	w.handled = steps
	return true
}

// noticeRest calls Options.AtRest until ctx is done.
func (c *controller) noticeRest(ctx context.Context) {
	ticks := time.NewTicker(restTime)
	defer ticks.Stop()
	for w := (work{}); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			if w.over(c.steps.Load()) {
				c.AtRest()
			}
		}
	}
}
