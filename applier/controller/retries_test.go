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

// A graph that failed for good is tried again within seconds at first if something is
// awaited, for example rights of its account, and more rarely in the end. Another cause
// begins again, and so does another goal. It keeps nothing of the former one.
func TestResyncsBecomeSeldom(t *testing.T) {
	var r retries
	now := time.Now()
	tries := func(during time.Duration, cause accountEvent) (n int) {
		for end := now.Add(during); ; n++ {
			r.scheduleResync(now, 5*time.Minute, cause)
			if r.resyncAt.After(end) {
				now = end
				return n
			}
			now = r.resyncAt
		}
	}
	if n := tries(time.Minute, accountCreated); n < 5 {
		t.Errorf("%d tries in the first minute without an account", n)
	}
	for _, test := range []struct {
		minutes     time.Duration
		least, most int
	}{{1, 5, 13}, {9, 6, 25}, {170, 12, 40}, {60, 3, 10}} {
		if n := tries(test.minutes*time.Minute, rightsGranted); n < test.least || n > test.most {
			t.Errorf("%d tries in %d minutes without rights; want %d to %d", n, test.minutes, test.least, test.most)
		}
	}
	var other retries
	other.scheduleResync(now, 5*time.Minute, noAccountEvent)
	if wait := other.resyncAt.Sub(now); wait != 5*time.Minute {
		t.Errorf("a graph that awaits nothing is tried again after %v", wait)
	}
	if _, begun := r.begin(goal{verb: verbDelete}, now); !begun || !r.resyncAt.IsZero() || r.resyncs != 0 {
		t.Errorf("begun %t, and left of the former goal: %+v", begun, r)
	}
}
