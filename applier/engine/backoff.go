package engine

import (
	"errors"
	"time"
)

// Backoff says how long to wait after a failure: Base after the first, twice as
// long after each further, at most Max; of this a random part of a half is
// taken off, so that many that failed at once don't come back at once. The zero
// value waits between a half and one second first, at most five minutes.
type Backoff struct {
	Base, Max time.Duration
	// Jitter gives numbers from 0 to 1; nil means no jitter.
	Jitter func() float64
}

// After is the time to wait after a number of failures.
func (b Backoff) After(failures int) time.Duration {
	base, most := b.Base, b.Max
	if base <= 0 {
		base = time.Second
	}
	if most <= 0 {
		most = 5 * time.Minute
	}
	wait := most
	if n := failures - 1; n < 30 && base<<max(n, 0) < most {
		wait = base << max(n, 0)
	}
	if b.Jitter != nil {
		wait -= time.Duration(b.Jitter() * float64(wait) / 2)
	}
	return wait
}

// AtMost is b with no wait longer than most.
func (b Backoff) AtMost(most time.Duration) Backoff {
	if b.Max <= 0 || b.Max > most {
		b.Max = most
	}
	return b
}

// failureState is what is remembered of an action that may fail.
type failureState struct {
	flying   bool
	failures int
	failure  *Failure
	retryAt  time.Time
}

// MaxTransientBackoff is how long trouble that the API server has is waited out at most:
// it passes without a word, and what waits for that is to go on soon after.
const MaxTransientBackoff = 30 * time.Second

// failed notes a failure, and when to try again.
func (e *Engine) failed(s *failureState, err error) {
	s.failures++
	if !errors.As(err, &s.failure) {
		s.failure = &Failure{Reason: ReasonApplyFailed, Message: err.Error()}
	}
	backoff := e.opts.Backoff
	if s.failure.Reason == ReasonApplyFailed {
		backoff = backoff.AtMost(MaxTransientBackoff)
	}
	s.retryAt = e.now.Add(max(backoff.After(s.failures), s.failure.RetryAfter))
}

func (s *failureState) succeeded() { s.failures, s.failure, s.retryAt = 0, nil, time.Time{} }

// wait says whether a failure keeps an action from being tried now, and sees to
// it that the engine is woken when it may be.
func (e *Engine) wait(s *failureState) bool {
	if s.failure == nil || !e.now.Before(s.retryAt) {
		return false
	}
	e.wakeAt(s.retryAt)
	return true
}

func (e *Engine) wakeAt(t time.Time) {
	if e.wake.IsZero() || t.Before(e.wake) {
		e.wake = t
	}
}
