package share

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// referenced returns n objects of a kind and namespace that aren't the graph's.
func referenced(kind, prefix string, n int) []engine.Target {
	var targets []engine.Target
	for i := range n {
		key := inventory.Key{Kind: kind, Namespace: "other", Name: fmt.Sprintf("%s%d", prefix, i)}
		targets = append(targets, engine.Target{Key: key, Version: "v1"})
	}
	return targets
}

// count returns the numbers of watches by name and of shared ones.
func (h *hub) count() (named, shared int) {
	for s := range h.watchers {
		if s.All {
			shared++
		} else {
			named++
		}
	}
	return named, shared
}

// The references of several graphs share a watch as soon as they are many.
func TestReferencesShareWatches(t *testing.T) {
	h := newHub(nil, time.Hour, 0, nil)
	a := Account{"shop", "pequod"}
	want := func(named, shared int) {
		t.Helper()
		if n, s := h.count(); n != named || s != shared {
			t.Errorf("%d watches by name and %d shared ones; want %d and %d", n, s, named, shared)
		}
	}
	one, two := &fakeGraph{}, &fakeGraph{}
	few := referenced("ConfigMap", "a", sharedFrom-1)
	h.subscribe(one, a, nil, few)
	want(sharedFrom-1, 0)
	h.subscribe(two, a, nil, referenced("ConfigMap", "b", 1))
	want(sharedFrom-1, 1)
	if len(one.observations) != 1 || one.observations[0].Type != AccessChanged {
		t.Fatalf("the first graph isn't asked to subscribe again: %+v", one.observations)
	}
	h.subscribe(one, a, nil, few)
	want(0, 1)
	// Without the right to watch all of them, they are watched by name in addition.
	w := h.subscriptions[one][0].by
	w.setRefused()
	h.subscribe(one, a, nil, few)
	h.subscribe(two, a, nil, referenced("ConfigMap", "b", 1))
	want(sharedFrom, 1)
	w.setOpen()
	h.subscribe(one, a, nil, few)
	h.subscribe(two, a, nil, nil)
	want(0, 1)
	h.subscribe(one, a, nil, few[:sharedFrom/2-1])
	want(sharedFrom/2-1, 0)
	// Secrets are watched by name, however many they are.
	h.subscribe(one, a, nil, referenced("Secret", "s", 50))
	want(50, 0)
	// The same is so for what the account could not read.
	unreadable := referenced("ConfigMap", "a", 50)
	for i := range unreadable {
		unreadable[i].Unreadable = true
	}
	h.subscribe(one, a, nil, unreadable)
	want(50, 0)
	h.unsubscribe(one)
	want(0, 0)
	if len(h.references.of)+len(h.references.total) > 0 {
		t.Errorf("left: %+v", h.references)
	}
}

// A program that has no rights of its own shares a watch for each account, with the rights of the account.
func TestReferencesShareWatchesOfAccounts(t *testing.T) {
	h := newHub(nil, time.Hour, 0, nil)
	h.asAccounts = true
	targets := referenced("ConfigMap", "a", sharedFrom)
	one, two, few := &fakeGraph{}, &fakeGraph{}, &fakeGraph{}
	a, b := &cluster.Client{}, &cluster.Client{}
	h.subscribe(one, Account{"shop", "one"}, a, targets)
	h.subscribe(two, Account{"shop", "two"}, b, targets)
	h.subscribe(few, Account{"shop", "few"}, nil, targets[1:])
	if n, s := h.count(); n != sharedFrom-1 || s != 2 {
		t.Errorf("%d watches by name and %d shared ones", n, s)
	}
	for g, client := range map[*fakeGraph]*cluster.Client{one: a, two: b} {
		if w := h.subscriptions[g][0].by; w.client != client || len(w.subscribers()) != 1 {
			t.Errorf("%+v has %d subscribers", w.selection, len(w.subscribers()))
		}
	}
}

// Each graph's watches by name begin again once per interval together.
func TestRelistOfNames(t *testing.T) {
	h := newHub(nil, time.Hour, time.Hour, nil)
	many, few := &fakeGraph{}, &fakeGraph{}
	a := Account{"shop", "pequod"}
	targets := referenced("Secret", "s", 50)
	h.subscribe(many, a, nil, targets)
	h.subscribe(few, a, nil, targets[:2])
	for _, g := range []*fakeGraph{many, few} {
		lists := 0.0 // an hour
		for _, f := range h.subscriptions[g] {
			w := f.by
			ctx, cancel := w.relist(t.Context())
			deadline, _ := ctx.Deadline()
			cancel()
			if left := time.Until(deadline); left > 51*time.Hour {
				t.Errorf("a list after %v", left)
			}
			lists += 1 / float64(w.named())
		}
		if lists > 1.001 {
			t.Errorf("%g lists an hour", lists)
		}
	}
	ctx, cancel := (&watcher{hub: h, selection: Selection{GVK: schema.GroupVersionKind{Kind: "ConfigMap"}}}).relist(t.Context())
	defer cancel()
	if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > time.Hour {
		t.Errorf("the objects of graphs are listed again after %v", time.Until(deadline))
	}
}

// A graph that follows an object while a shared watch lists is given another list:
// the object may have changed between its read and the list.
func TestFollowedDuringAList(t *testing.T) {
	h := newHub(nil, time.Hour, 0, nil)
	g, late := &fakeGraph{}, &fakeGraph{}
	targets := referenced("ConfigMap", "a", sharedFrom+1)
	h.subscribe(g, Account{"shop", "pequod"}, nil, targets[:sharedFrom])
	w := h.subscriptions[g][0].by
	w.keep()
	h.subscribe(late, Account{"shop", "pequod"}, nil, targets[sharedFrom:])
	if !w.missesFollowed() {
		t.Error("an object that the list doesn't cover isn't missed")
	}
	if w.keep(); w.missesFollowed() {
		t.Error("the next list covers it")
	}
}
