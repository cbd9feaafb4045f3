package engine

import "time"

// Backoff computes the delay before a retry. It starts at Base, doubles with each
// further failure, and is at most Max. Jitter shortens each delay by a random
// part of up to one half, so that actions which failed together aren't retried
// together. The zero value starts at one second and ends at five minutes.
type Backoff struct {
	Base, Max time.Duration
	// Jitter returns random numbers between 0 and 1. Nil means no jitter.
	Jitter func() float64
}

// maxBackoff is the longest delay of the zero Backoff.
const maxBackoff = 5 * time.Minute

// MaxTransientBackoff limits the delay after failures of the API server itself,
// such as overload. They end without any event, and the graph should continue
// soon afterwards.
const MaxTransientBackoff = 30 * time.Second

// triesAtPace is the number of failures after which [Backoff.Lasting] doubles its limit.
const triesAtPace = 6

// After returns the delay after a number of failures in a row.
func (b Backoff) After(failures int) time.Duration {
	base, most := b.Base, b.Max
	if base <= 0 {
		base = time.Second
	}
	if most <= 0 {
		most = maxBackoff
	}
	wait := most
	// 30 doublings exceed every sensible maximum, and more would overflow.
	if n := failures - 1; n < 30 && base<<max(n, 0) < most {
		wait = base << max(n, 0)
	}
	if b.Jitter != nil {
		wait -= time.Duration(b.Jitter() * float64(wait) / 2)
	}
	return wait
}

// Lasting returns the delay after a number of failures in a row of something that may
// succeed without a change by a user. The delay is at most MaxTransientBackoff at first.
// Every triesAtPace failures, this limit doubles, until it is most.
func (b Backoff) Lasting(failures int, most time.Duration) time.Duration {
	return b.AtMost(LongestDelay(failures, most)).After(failures)
}

// LongestDelay returns the limit of [Backoff.Lasting].
func LongestDelay(failures int, most time.Duration) time.Duration {
	return min(MaxTransientBackoff<<min(failures/triesAtPace, 10), most)
}

// AtMost returns a copy of b whose delays are limited to most.
func (b Backoff) AtMost(most time.Duration) Backoff {
	if b.Max <= 0 || b.Max > most {
		b.Max = most
	}
	return b
}
