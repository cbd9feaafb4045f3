package controller

import (
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/flowcontrol"
)

// A status is written when an execution begins and when it ends. In between it
// is written only if the execution takes long, and later if other requests have
// to wait or many graphs ask for it: with a thousand graphs at once, such writes alone
// would take long, and make all graphs take longer.
const (
	firstWriteAfter = 2 * time.Second  // after the begin of the run
	yieldFor        = 20 * time.Second // to other requests
	// completesTogether is how long others are probably about to be completed after a graph was.
	completesTogether = firstWriteAfter
	// firstWriteOfRetryAfter replaces firstWriteAfter where a stalled graph is tried again. With a
	// slow API server, each try would otherwise change its conditions to and fro.
	firstWriteOfRetryAfter = 20 * time.Second

	// The writes of all graphs that may yield: at most so many at once, and then so
	// many a second.
	progressAtOnce  = 10
	progressAverage = 2
)

// progress limits the writes that show progress, of all graphs together. It is safe for
// concurrent use.
type progress struct {
	flowcontrol.PassiveRateLimiter
	// completed is when a graph was completed last that wasn't before; nil if none was.
	completed atomic.Pointer[time.Time]
}

// newProgress returns the limits of a process that has completed no graph.
func newProgress() *progress {
	return &progress{PassiveRateLimiter: flowcontrol.NewTokenBucketPassiveRateLimiter(progressAverage, progressAtOnce)}
}

// completing reports whether a new or changed graph was completed a moment ago. Others
// that are executed are probably about to be completed, too. Runs that only check a graph
// again don't count: a busy cluster has one at every moment.
func (p *progress) completing(now time.Time) bool {
	completed := p.completed.Load()
	return completed != nil && now.Sub(*completed) < completesTogether
}

// allows reports whether a status may be written now. The status of a graph that is about
// to be completed is written in any case.
func (p *progress) allows(now time.Time) bool { return !p.completing(now) && p.TryAccept() }
