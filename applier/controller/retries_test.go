package controller

import (
	"testing"
	"time"
)

// What fails again and again is tried often at first, and less than 60 times an hour in
// the end.
func TestRetriesBecomeSeldom(t *testing.T) {
	var r retries
	tries := func(during time.Duration) (n int) {
		for ; during > 0; n++ {
			during -= r.failed(0)
		}
		return n
	}
	if n := tries(5 * time.Minute); n < 10 {
		t.Errorf("%d tries in the first five minutes", n)
	}
	tries(time.Hour)
	if n := tries(time.Hour); n > 30 {
		t.Errorf("%d tries in an hour", n)
	}
	r.progressed()
	if wait := r.failed(0); wait > time.Second {
		t.Errorf("the first wait after a success is %v", wait)
	}
	if wait := r.failed(time.Hour); wait != time.Hour {
		t.Errorf("%v; the API server asked for an hour", wait)
	}
}
