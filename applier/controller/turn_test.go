package controller

import (
	"testing"
	"time"
)

// A driver has one step at a time, and every request is followed by a step that
// begins after it.
func TestTurn(t *testing.T) {
	var turn turn
	want := func(what string, got, want bool) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %t", what, got)
		}
	}
	want("the first request queues a step", turn.ask(), true)
	want("the second joins it", turn.ask(), false)
	turn.begin()
	want("a request during the step queues none", turn.ask(), false)
	want("but one follows", turn.end(), true)
	want("which a request joins", turn.ask(), false)
	turn.begin()
	want("nothing was asked for since", turn.end(), false)
	want("so the next request queues one", turn.ask(), true)
}

// A graph whose request timed out gets less time for a while, and then its full
// time once again.
func TestHurried(t *testing.T) {
	d := offline(t).driver(webKey)
	now := d.now()
	d.now = func() time.Time { return now }
	if d.hurried() {
		t.Error("hurried at first")
	}
	d.timedOut()
	now = now.Add(hurriedFor - time.Second)
	if d.timedOut(); !d.hurried() {
		t.Error("isn't hurried")
	}
	if now = now.Add(time.Second); d.hurried() {
		t.Error("is hurried for longer by a request that had little time")
	}
}
