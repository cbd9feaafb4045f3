package share

import (
	"testing"
	"time"
)

// Watches of kinds that the cluster doesn't serve make few requests together,
// however many they are. If they are few, each soon learns that its kind is served.
func TestUnservedKinds(t *testing.T) {
	const most = 15 // requests a second of all
	for _, unserved := range []int{1, 19, 20, 100, 1000, 100_000} {
		pause := unservedPause(MaxPause, unserved)
		if rate := float64(unserved) / pause.Seconds(); rate > most {
			t.Errorf("%d kinds, each tried every %v: %.1f requests a second", unserved, pause, rate)
		}
		if unserved < fewUnserved && pause > maxUnserved {
			t.Errorf("%d kinds are tried every %v", unserved, pause)
		}
	}
}

// Watches by name of one graph that are refused make few requests together, however
// many they are.
func TestRefusedWatches(t *testing.T) {
	for _, named := range []int{1, 2, 3, 10, 100} {
		pause := refusedPause(5*time.Minute, 100, named)
		if lists := float64(named) * float64(time.Hour) / float64(pause); lists > 25 {
			t.Errorf("%d watches, each tried every %v: %.0f lists an hour", named, pause, lists)
		}
	}
	if pause := refusedPause(5*time.Minute, 1, 1); pause > 2*time.Second {
		t.Errorf("a watch is tried again after %v", pause)
	}
}

// A watch of a kind that isn't served counts once, and no more after it ended.
func TestUnservedKindsAreCounted(t *testing.T) {
	h, g := newHub(nil, time.Hour, 0, nil), &fakeGraph{}
	h.subscribeToAccount(g, Account{"shop", "pequod"})
	w := h.subscriptions[g][0].by
	if first, again := w.setUnserved(), w.setUnserved(); first != 1 || again != 1 {
		t.Errorf("one watch counts as %d, and then %d", first, again)
	}
	w.setOpen()
	if h.unserved != 0 || len(g.observations) != 1 || g.observations[0].Type != KindServed {
		t.Errorf("served: %d kinds aren't; notified of %+v", h.unserved, g.observations)
	}
	w.setUnserved()
	w.setRefused() // the API server knows the kind, although the applier may not watch it
	if h.unserved != 0 || g.observations[1].Type != KindServed || g.observations[2].Type != AccessChanged {
		t.Errorf("refused: %d kinds aren't served; notified of %+v", h.unserved, g.observations)
	}
	w.setUnserved()
	h.unsubscribe(g)
	if w.setUnserved(); h.unserved != 0 {
		t.Errorf("%d watches of kinds that aren't served, after the last ended", h.unserved)
	}
	if len(h.watchers)+len(h.subscriptions) > 0 {
		t.Errorf("left: %v, %v", h.watchers, h.subscriptions)
	}
}
