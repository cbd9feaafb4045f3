package engine

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/inventory"
)

// pruning is a bench of node a whose graph had the others too, in waves.
func pruning(t *testing.T, opts Options, chain ...string) *bench {
	t.Helper()
	stored := newBench(t, nodes(chain...), nil, Options{}).complete()
	opts.Prune = true
	b := newBench(t, nodes("a"), stored, opts)
	var objects []*unstructured.Unstructured
	for n, e := range stored.Entries {
		objects = append(objects, configMap(t, self, e.Name, string(e.UID), 50+n, "1"))
	}
	b.survey(objects...)
	return b
}

func TestPruneLevels(t *testing.T) {
	b := pruning(t, Options{}, "a", "b", "c<b", "d<c", "e<c")
	b.expect("LoadClaims")
	b.answer(LoadClaims, Outcome{})
	b.expect("Record") // what left has no node any more
	b.answer(Record, Outcome{})
	b.expect("Delete d, Delete e")
	if a := b.answer(Delete, Outcome{}); a.UID != "u-d" || a.ResourceVersion == "" || a.Node != "" {
		t.Errorf("%+v", a)
	}
	held := live(t, self, `{apiVersion: v1, kind: ConfigMap, metadata: {name: e, uid: u-e, resourceVersion: "90", deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [x/y]}}`)
	b.answer(Delete, Outcome{Object: held})
	b.expect("")
	b.wantShow("a Ready", "d Gone", "e Deleting: is being deleted, held by finalizer x/y", "c Pending", "b Pending")
	if b.last.Phase != Pruning {
		t.Errorf("phase %s", b.last.Phase)
	}
	b.now = b.now.Add(time.Minute)
	b.ObserveGone(held)
	b.expect("LoadClaims") // what others list may have changed in a minute
	list := []*inventory.Inventory{{Owner: other, Entries: []inventory.Entry{{Key: b.removals.levels[2][0].entry.Key, Node: "x"}}}}
	b.answer(LoadClaims, Outcome{Claims: inventory.ClaimsOn(self, list)})
	b.expect("Delete c")
	b.answer(Delete, Outcome{})
	b.expect("Release b")
	if a := b.answer(Release, Outcome{Object: configMap(t, other, "b", "u-b", 91, "1")}); *a.NewOwner != other {
		t.Errorf("%+v", a)
	}
	b.expect("Record")
	if inv := b.answer(Record, Outcome{}).Inventory; len(inv.Entries) != 1 || !inv.Complete {
		t.Errorf("%+v", inv)
	}
	b.expect("")
	if b.last.Phase != Completed {
		t.Errorf("phase %s", b.last.Phase)
	}
}

func TestPruneFails(t *testing.T) {
	b := pruning(t, Options{}, "a", "b", "c<b")
	b.expect("LoadClaims")
	b.answer(LoadClaims, Outcome{Err: errors.New("timed out")})
	b.expect("")
	b.wantShow("a Ready", "c Failed ApplyFailed: whether another graph lists it can't be told: timed out", "b Pending")
	if s := b.Statuses()[1]; s.NextAttempt.IsZero() || s.Attempts != 1 || b.last.Phase != Pruning {
		t.Errorf("%+v, phase %s", s, b.last.Phase)
	}
	b.now = b.last.Wake
	b.expect("LoadClaims")
	b.answer(LoadClaims, Outcome{})
	b.expect("Record")
	b.answer(Record, Outcome{})
	b.expect("Delete c")
	// A delete that has no effect isn't repeated at once.
	b.answer(Delete, Outcome{Object: configMap(t, self, "c", "u-c", 60, "1")})
	b.expect("")
	b.wantShow("a Ready", "c Failed DeleteFailed: is still there after it was deleted", "b Pending")
	b.now = b.last.Wake
	b.expect("Delete c")
	b.answer(Delete, Outcome{Err: errors.New("timed out")})
	b.expect("Read c")
	b.answer(Read, Outcome{Object: configMap(t, self, "c", "u-c", 60, "1")})
	b.expect("")
	if s := b.Statuses()[1]; s.Attempts != 2 || !s.NextAttempt.Equal(b.last.Wake) {
		t.Errorf("%+v", s)
	}
	b.now = b.last.Wake
	b.expect("Delete c")
	b.answer(Delete, Outcome{Err: &Failure{Reason: ReasonForbidden, Message: "may not delete", Terminal: true}})
	b.expect("")
	b.wantShow("a Ready", "c Failed Forbidden: may not delete", "b Pending")
	if b.last.Phase != Stuck {
		t.Errorf("phase %s", b.last.Phase)
	}
	for _, e := range b.ledger.saved.Entries {
		if e.Name == "c" && e.UID == "u-c" && e.Node == "" {
			return
		}
	}
	t.Errorf("c isn't in the inventory, and still there: %+v", b.ledger.saved.Entries)
}

// An object that a graph only meant to make, and that its account may not even
// look at, holds neither the graph nor its inventory.
func TestNeverAppliedAndForbidden(t *testing.T) {
	stored := newBench(t, nodes("a", "b", "c"), nil, Options{}).complete()
	for i, e := range stored.Entries {
		if e.Name == "b" {
			stored.Entries[i].UID, stored.Entries[i].Live = "", ""
		}
	}
	b := newBench(t, nodes("a"), stored, Options{Prune: true})
	b.step()
	forbidden := &Failure{Reason: ReasonForbidden, Message: "may not get", Terminal: true}
	key := func(name string) inventory.Key {
		return inventory.Key{Kind: "ConfigMap", Namespace: "default", Name: name}
	}
	b.answer(Survey, Outcome{
		Objects:    []*unstructured.Unstructured{configMap(t, self, "a", "u-a", 5, "1")},
		Unreadable: map[inventory.Key]error{key("b"): forbidden, key("c"): forbidden},
	})
	b.expect("Read b, Read c")
	b.answer(Read, Outcome{Err: forbidden})
	b.answer(Read, Outcome{Err: forbidden})
	b.expect("Record")
	inv := b.answer(Record, Outcome{}).Inventory
	b.expect("")
	// c was there once: nobody forgets it.
	b.wantShow("a Ready", "b Gone: was never applied, and can't be looked at: may not get", "c Failed Forbidden: may not get")
	if len(inv.Entries) != 2 || b.last.Phase != Stuck {
		t.Errorf("phase %s, %+v", b.last.Phase, inv.Entries)
	}
}

// What another graph lists goes to it before everything is ready: it may hold
// what this one waits for.
func TestHandOverEarly(t *testing.T) {
	stored := newBench(t, nodes("b", "c"), nil, Options{}).complete()
	b := newBench(t, nodes("a"), stored, Options{Prune: true})
	b.survey(configMap(t, other, "a", "u-a", 5, "1"), configMap(t, self, "b", "u-b", 6, "1"), configMap(t, self, "c", "u-c", 7, "1"))
	b.expect("LoadClaims")
	list := []*inventory.Inventory{{Owner: other, Entries: []inventory.Entry{{Key: inventory.Key{Kind: "ConfigMap", Namespace: "default", Name: "b"}, Node: "b"}}}}
	b.answer(LoadClaims, Outcome{Claims: inventory.ClaimsOn(self, list)})
	b.expect("Record")
	b.answer(Record, Outcome{})
	b.expect("Release b")
	b.answer(Release, Outcome{Object: configMap(t, other, "b", "u-b", 8, "1")})
	b.expect("Record")
	b.answer(Record, Outcome{})
	b.expect("")
	b.wantShow("a Failed OwnedElsewhere: belongs to graph default/other: apply that graph without it, or list it in spec.adopt", "b Gone")
	if b.last.Phase != Stuck {
		t.Errorf("phase %s", b.last.Phase)
	}
	b.Observe(configMap(t, self, "a", "u-a", 9, "1")) // the other one let go as well
	b.expect("Apply a")
	b.applyNext("u-a", 10)
	b.expect("Delete c")
	b.wantShow("a Ready", "b Gone", "c Deleting")
}

// An object that wasn't there a while ago may have been made since, by a run
// that was killed.
func TestPruneLooksAgain(t *testing.T) {
	stored := newBench(t, nodes("a", "b"), nil, Options{}).complete()
	b := newBench(t, neverReady, stored, Options{Prune: true})
	b.survey(configMap(t, self, "a", "u-a", 5, "1"))
	b.expect("")
	b.now = b.now.Add(time.Minute)
	b.expect("Record") // a isn't ready in time
	b.answer(Record, Outcome{})
	ready := configMap(t, self, "a", "u-a", 6, "2")
	entry := b.ledger.entries[keyA]
	entry.Live = b.newObservation(keyA, ready).live
	b.ledger.entries[keyA] = entry
	b.Observe(ready)
	b.expect("Read b")
	b.answer(Read, Outcome{Object: configMap(t, self, "b", "u-b2", 7, "1")})
	b.expect("LoadClaims")
	b.answer(LoadClaims, Outcome{})
	b.expect("Delete b")
}

func TestDelete(t *testing.T) {
	stored := newBench(t, nodes("a", "b<a"), nil, Options{}).complete()
	e := NewDelete(stored, Options{Orphan: true})
	b := &bench{T: t, Engine: e, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	b.survey(configMap(t, self, "a", "u-a", 50, "1"), configMap(t, self, "b", "u-b", 51, "1"))
	b.expect("LoadClaims")
	b.answer(LoadClaims, Outcome{})
	b.expect("Record") // that all of it goes, so that nobody hands it anything
	b.answer(Record, Outcome{})
	b.expect("Release b")
	b.answer(Release, Outcome{})
	b.expect("Release a")
	b.answer(Release, Outcome{})
	b.expect("Record")
	if inv := b.answer(Record, Outcome{}).Inventory; len(inv.Entries) != 0 || !inv.Complete {
		t.Errorf("%+v", inv)
	}
	b.expect("")
	if b.last.Phase != Completed {
		t.Errorf("phase %s", b.last.Phase)
	}
}

func TestEmpty(t *testing.T) {
	stored := newBench(t, nodes("a"), nil, Options{}).complete()
	empty := &v1alpha1.ResourceGraph{}
	empty.Namespace, empty.Name = self.Namespace, self.Name
	for _, test := range []struct {
		opts Options
		want error
	}{{Options{Prune: true}, ErrEmpty}, {Options{Prune: true, AllowEmpty: true}, nil}, {Options{}, nil}} {
		if _, err := New(empty, stored, test.opts); !errors.Is(err, test.want) {
			t.Errorf("%+v: %v, want %v", test.opts, err, test.want)
		}
	}
}
