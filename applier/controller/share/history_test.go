package share

import (
	"testing"
	"time"

	"github.com/pequod-io/pequod/applier/cluster"
)

// A list that is older than what was seen before it is noticed, and watches that know
// later versions than a restored cluster has begin again.
func TestListsThatGoBack(t *testing.T) {
	h, g := newHub(nil, time.Hour, 0, nil), &fakeGraph{}
	h.subscribeToAccount(g, Account{"shop", "pequod"})
	w := h.subscriptions[g][0].by
	rewritten := func() (n int) {
		for _, o := range g.observations {
			if o.Type == HistoryRewritten {
				n++
			}
		}
		g.observations = nil
		return n
	}
	list := func(version string) { w.observeList(&cluster.Listing{ResourceVersion: version}) }
	list("100")
	list("") // of a kind that isn't served
	list("100")
	list("120")
	w.sawVersion("130")
	w.sawVersion("125")
	if n := rewritten(); n != 0 {
		t.Errorf("%d lists went back; want none", n)
	}
	list("129")
	if n := rewritten(); n != 1 {
		t.Errorf("%d lists went back; want the one that is older than an event", n)
	}
	list("129")
	if n := rewritten(); n != 0 {
		t.Error("the next list goes back, too")
	}

	ended := 0
	w.setAgain(func() { ended++ })
	h.rewind("129")
	if ended != 0 {
		t.Error("a watch of the present begins again")
	}
	h.rewind("50")
	list("50")
	if n := rewritten(); ended != 1 || n != 0 {
		t.Errorf("a watch of the former history ended %d times, and its list went back %d times", ended, n)
	}
}

// A pool that is held starts no jobs, and continues where it was.
func TestPoolIsHeld(t *testing.T) {
	p, _ := startedPool(t, 4)
	p.hold(true)
	g, started := &fakeGraph{}, make(chan int, 10)
	for i := range 10 {
		p.continueWork(g, job(func() { started <- i }))
	}
	if p.mu.Lock(); p.inFlight != 0 {
		t.Errorf("%d jobs are in flight", p.inFlight)
	}
	p.mu.Unlock()
	p.hold(false)
	for range 10 {
		<-started // or the test hangs
	}
}
