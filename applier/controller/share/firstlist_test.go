package share

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// labeledTargets returns one object of a graph for each kind.
func labeledTargets(name string, kinds ...string) []engine.Target {
	var targets []engine.Target
	for _, kind := range kinds {
		key := inventory.Key{Kind: kind, Namespace: "shop", Name: name}
		targets = append(targets, engine.Target{Key: key, Version: "v1", Labeled: true})
	}
	return targets
}

// A survey is answered by the first lists of its watches, after the graph was notified
// of them, and reads its objects alone if there won't be such a list.
func TestFirstListsAnswerSurveys(t *testing.T) {
	h := newHub(nil, time.Hour, 0, nil)
	a := Account{"shop", "pequod"}
	of := func(kind string) *watcher {
		return h.watchers[Selection{GVK: KindOf(engine.Target{Key: inventory.Key{Kind: kind}, Version: "v1"})}]
	}
	// join subscribes a graph and returns what its survey was answered.
	join := func(name string, kinds ...string) (g *fakeGraph, await func() bool, answers *[]bool) {
		g, answers = &fakeGraph{}, &[]bool{}
		targets := labeledTargets(name, kinds...)
		h.subscribe(g, a, nil, targets)
		return g, func() bool {
			return h.awaitFirstLists(g, targets, func(listed bool) {
				if listed && len(g.observations) != len(kinds) {
					t.Errorf("%s is answered after %d of %d lists", name, len(g.observations), len(kinds))
				}
				*answers = append(*answers, listed)
			})
		}, answers
	}
	expect := func(name string, answers *[]bool, want ...bool) {
		t.Helper()
		if len(*answers) != len(want) || len(want) > 0 && (*answers)[0] != want[0] {
			t.Errorf("%s: answers %v; want %v", name, *answers, want)
		}
	}
	list := func(kind string) { of(kind).observeList(&cluster.Listing{ResourceVersion: "1"}) }

	_, await, both := join("both", "ConfigMap", "Service")
	if !await() {
		t.Fatal("the lists aren't awaited")
	}
	list("ConfigMap")
	expect("one list of two", both)
	list("Service")
	list("Service")
	expect("both lists", both, true)

	if _, await, _ := join("late", "ConfigMap"); await() {
		t.Error("a list is awaited that was before the graph subscribed")
	}
	if _, await, _ := join("mixed", "ConfigMap", "Secret"); await() {
		t.Error("one of the lists was before the graph subscribed")
	}
	if _, await, _ := join("empty"); await() {
		t.Error("no list is awaited for ever")
	}

	_, await, failed := join("failed", "Role", "Ingress")
	await()
	list("Role")
	of("Ingress").firstListFailed()
	of("Ingress").firstListFailed()
	expect("a list failed", failed, false)

	left, await, gone := join("left", "Job")
	await()
	h.unsubscribe(left)
	expect("the watch ended", gone, false)
}

// TestPatience waits for the graphs of a start as long as they become fewer, and for others only
// for a time.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, test := range map[string]struct {
			starting func(passed time.Duration) int
			waiting  int
			want     time.Duration
		}{
			"nothing to wait for":         {func(time.Duration) int { return 0 }, 0, 0},
			"others":                      {func(time.Duration) int { return 0 }, 100, gatherTime},
			"a start that stands still":   {func(time.Duration) int { return 100 }, 0, gatherTime},
			"a start that ends":           {func(passed time.Duration) int { return 1000 - int(passed/(10*time.Millisecond)) }, 0, 9850 * time.Millisecond},
			"a start that takes for ever": {func(passed time.Duration) int { return 1_000_000 - int(passed/time.Second) }, 0, maxGatherTime},
		} {
			p, began := newPatience(), time.Now()
			for p.waitFor(test.waiting, test.starting(time.Since(began))) {
				time.Sleep(gatherPause)
			}
			if got := time.Since(began); got != test.want {
				t.Errorf("%s: waited %s, want %s", name, got, test.want)
			}
		}
	})
}
