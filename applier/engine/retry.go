package engine

import (
	"errors"
	"time"
)

// retryState is the state of an action that is retried when it fails. The zero
// value is an action that was never requested.
type retryState struct {
	// inFlight is set from the request until the driver answers. Only one action
	// of each kind is in flight per object.
	inFlight bool
	// failures counts the failures since the last success.
	failures int
	// failure is the last failure, nil after a success.
	failure *Failure
	// retryAt is the earliest time of the next attempt. It has no meaning after a
	// failure that lasts.
	retryAt time.Time
}

// fail records a failure and schedules the retry. An error that isn't a [*Failure]
// becomes one that is transient.
func (s *retryState) fail(err error, now time.Time, backoff Backoff) {
	s.failures++
	if !errors.As(err, &s.failure) {
		s.failure = &Failure{Reason: ReasonApplyFailed, Message: err.Error()}
	}
	most := maxBackoff
	if s.failure.Reason == ReasonApplyFailed {
		most = MaxTransientBackoff
	}
	s.retryAt = now.Add(max(backoff.Lasting(s.failures, most), s.failure.RetryAfter))
}

// succeed forgets the failures.
func (s *retryState) succeed() { s.failures, s.failure, s.retryAt = 0, nil, time.Time{} }

// failedForGood reports whether the last failure is terminal.
func (s *retryState) failedForGood() bool { return s.failure != nil && s.failure.Terminal }
