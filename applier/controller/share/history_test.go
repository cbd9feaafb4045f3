package share

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// A list that is older than what was known before it is noticed, and watches that know
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
	list := func(version string) {
		w.begin(func() {})
		w.observeList(&cluster.Listing{ResourceVersion: version})
	}
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
	w.begin(func() { ended++ })
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

// A list is also compared with the objects that the API server returned before it, because
// no watch may have been open to see their versions.
func TestListsThatAreOlderThanAnswers(t *testing.T) {
	for _, target := range []engine.Target{
		{Key: inventory.Key{Kind: "ConfigMap", Namespace: "shop", Name: "mine"}, Version: "v1", Labeled: true},
		{Key: inventory.Key{Kind: "ConfigMap", Namespace: "shop", Name: "others"}, Version: "v1"},
	} {
		h, g, account := newHub(nil, time.Hour, 0, nil), &fakeGraph{}, Account{"shop", "pequod"}
		h.subscribe(g, account, nil, []engine.Target{target})
		w := h.subscriptions[g][0].by
		saw := func(kind, version string) {
			key := target.Key
			key.Kind = kind
			h.saw(account, schema.GroupVersionKind{Version: "v1", Kind: kind}, key, version)
		}
		list := func(version, want string, meanwhile func()) {
			t.Helper()
			g.observations = nil
			w.begin(func() {})
			meanwhile()
			w.observeList(&cluster.Listing{ResourceVersion: version})
			if got := g.observations[0].Type; (got == HistoryRewritten) != (want == "back") {
				t.Errorf("%s: list %s: observation %d; want that it goes %s", target.Key, version, got, want)
			}
		}
		list("100", "on", func() {})
		saw("Secret", "200") // of another watch
		list("101", "on", func() { saw("ConfigMap", "110") })
		list("109", "back", func() {})
		list("109", "on", func() { saw("ConfigMap", "120") })
		list("120", "on", func() {})
		saw("ConfigMap", "130")
		saw("ConfigMap", "125")
		list("129", "back", func() {})
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
