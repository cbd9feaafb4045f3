package controller

import (
	"math/rand/v2"
	"time"

	"github.com/pequod-io/pequod/applier/engine"
)

// backoff is the time between attempts of everything that is retried.
var backoff = engine.Backoff{Jitter: rand.Float64}

// retries decides when a graph that failed is tried again. The zero value is
// that of a graph that didn't fail.
type retries struct {
	failures  int       // in a row: runs that couldn't begin, and writes of the status
	notBefore time.Time // no run for the same request begins earlier
	goal      goal      // of the last run
	// resyncAt is when a graph that failed for good is tried again, because
	// something may have changed that isn't watched, such as a role. Zero means
	// that it isn't scheduled.
	resyncAt time.Time
	// resyncs counts the tries of a graph that failed for good, for the same cause in a row.
	resyncs int32
	// forbidden is set while requests of a run are forbidden that aren't those for an object.
	forbidden bool
	cause     accountEvent
	// hurriedUntil is when requests get their full time again, after one of them
	// timed out.
	hurriedUntil time.Time
}

const (
	// shortTimeout is the timeout of the requests of a graph after one of them
	// timed out: a webhook that hangs for 30 seconds would otherwise occupy the
	// slots of its namespace most of the time.
	shortTimeout = 10 * time.Second
	// hurriedFor is how long the short timeout applies. A request that needs more
	// time is then tried with its full time again.
	hurriedFor = 5 * time.Minute
)

// timedOut records that a request took as long as shortTimeout and failed.
func (r *retries) timedOut(now time.Time) {
	if !now.Before(r.hurriedUntil) {
		r.hurriedUntil = now.Add(hurriedFor)
	}
}

// begin records the begin of a run. It returns false, and when to try again, if
// the run has to wait. A run doesn't wait if a user asks for something new.
func (r *retries) begin(g goal, now time.Time) (time.Time, bool) {
	if !r.goal.sameRequest(g) {
		*r = retries{hurriedUntil: r.hurriedUntil} // the rest is about the former goal
	}
	if now.Before(r.notBefore) {
		return r.notBefore, false
	}
	r.goal = g
	return time.Time{}, true
}

// progressed records a success: the next failure is the first one again.
func (r *retries) progressed() { r.failures = 0 }

// succeeded records that a run completed.
func (r *retries) succeeded() {
	r.failures, r.cause = 0, noAccountEvent
	r.happened()
}

// happened records an event after which the graph may succeed: it is tried again at once,
// and soon again if it fails.
func (r *retries) happened() { r.resyncs, r.notBefore, r.resyncAt = 0, time.Time{}, time.Time{} }

// failed records a failure that may be transient, and returns how long to wait.
// The API server may ask for more time than the backoff. After several failures, the
// graph itself is probably refused, for example by a webhook, and the limit of the backoff
// grows to eight times its length.
func (r *retries) failed(least time.Duration) time.Duration {
	r.failures++
	return max(least, backoff.Lasting(r.failures, 8*engine.MaxTransientBackoff))
}

// scheduleResync schedules another try of a graph that failed for good after
// interval. After some tries, the interval grows to four times its length. If something
// is awaited, the first tries come sooner, and begin again when that changes.
func (r *retries) scheduleResync(now time.Time, interval time.Duration, cause accountEvent) {
	if r.cause != cause {
		r.cause, r.resyncs = cause, 0
	}
	wait := interval << min(r.resyncs/3, 2)
	r.resyncs++
	if cause != noAccountEvent {
		wait = backoff.Lasting(int(r.resyncs), 4*interval)
	}
	r.resyncAt = now.Add(wait)
}

// within returns the longest time until a graph that awaits something is tried again. It
// changes only after several tries.
func (r *retries) within(interval time.Duration, cause accountEvent) time.Duration {
	tries := int(r.resyncs)
	if r.cause != cause {
		tries = 0
	}
	if r.resyncAt.IsZero() {
		tries++ // it is about to be scheduled
	}
	return engine.LongestDelay(tries, 4*interval)
}

// resyncDue reports whether the time of a scheduled resync has come, and clears it.
func (r *retries) resyncDue(now time.Time) bool {
	if r.resyncAt.IsZero() || now.Before(r.resyncAt) {
		return false
	}
	r.resyncAt = time.Time{}
	return true
}

// lacksRights reports whether a graph lacks rights and is tried again.
func (r *retries) lacksRights() bool {
	return r.forbidden || !r.resyncAt.IsZero() && r.cause.isRights()
}

// earliest returns the earlier of two times; zero means never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
