package engine

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/inventory"
)

// pruning returns an env for a graph of node a whose previous revision had the whole
// chain.
func pruning(t *testing.T, opts Options, chain ...string) *env {
	t.Helper()
	stored := newEnv(t, nodes(chain...), nil, Options{}).complete()
	opts.Prune = true
	b := newEnv(t, nodes("a"), stored, opts)
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
	b.expect("Record") // entries of objects that left have no node any more
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
	b.expect("LoadClaims") // claims are reloaded after a minute
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

// A graph that lists an object and can't take it doesn't keep it: the next graph that
// lists it gets it, and if there is none, it is deleted.
func TestClaimRefused(t *testing.T) {
	b := pruning(t, Options{}, "a", "b", "c")
	keyOf := func(name string) inventory.Key {
		return inventory.Key{Kind: "ConfigMap", Namespace: "default", Name: name}
	}
	third := inventory.Owner{Namespace: other.Namespace, Name: "third"}
	list := []*inventory.Inventory{
		{Owner: other, Entries: []inventory.Entry{{Key: keyOf("b"), Node: "x"}, {Key: keyOf("c"), Node: "y"}}},
		{Owner: third, Entries: []inventory.Entry{{Key: keyOf("c"), Node: "z"}}},
	}
	b.expect("LoadClaims")
	b.answer(LoadClaims, Outcome{Claims: inventory.ClaimsOn(self, list)})
	b.expect("Record")
	b.answer(Record, Outcome{})
	b.expect("Release b, Release c")
	refusal := Outcome{Err: &Failure{Reason: ReasonClaimRefused, Terminal: true, Message: "it is suspended"}}
	b.answer(Release, refusal)
	b.expect("Delete b")
	b.answer(Delete, Outcome{})
	b.answer(Release, refusal)
	b.expect("Release c")
	if a := b.answer(Release, Outcome{Object: configMap(t, third, "c", "u-c", 91, "1")}); *a.NewOwner != third {
		t.Errorf("c was handed over to %s", a.NewOwner)
	}
	b.expect("Record")
}

func TestPruneFails(t *testing.T) {
	b := pruning(t, Options{}, "a", "b", "c<b")
	b.expect("LoadClaims")
	b.answer(LoadClaims, Outcome{Err: errors.New("timed out")})
	b.expect("")
	b.wantShow("a Ready", "c Failed ApplyFailed: can't check whether another graph lists it: timed out", "b Pending")
	if s := b.Statuses()[1]; s.NextAttempt.IsZero() || s.Attempts != 1 || b.last.Phase != Pruning {
		t.Errorf("%+v, phase %s", s, b.last.Phase)
	}
	b.now = b.last.Wake
	b.expect("LoadClaims")
	b.answer(LoadClaims, Outcome{})
	b.expect("Record")
	b.answer(Record, Outcome{})
	b.expect("Delete c")
	// A Delete without effect isn't repeated at once.
	b.answer(Delete, Outcome{Object: configMap(t, self, "c", "u-c", 60, "1")})
	b.expect("")
	b.wantShow("a Ready", "c Failed DeleteFailed: still exists after it was deleted", "b Pending")
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

// An object that was never applied, and that the account may not read, blocks neither
// the graph nor the removal of its inventory.
func TestNeverAppliedAndForbidden(t *testing.T) {
	stored := newEnv(t, nodes("a", "b", "c"), nil, Options{}).complete()
	for i, e := range stored.Entries {
		if e.Name == "b" {
			stored.Entries[i].UID, stored.Entries[i].Live = "", ""
		}
	}
	b := newEnv(t, nodes("a"), stored, Options{Prune: true})
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
	// c was applied once, so its entry is kept.
	b.wantShow("a Ready", "b Gone: was never applied and can't be read: may not get", "c Failed Forbidden: may not get")
	if len(inv.Entries) != 2 || b.last.Phase != Stuck {
		t.Errorf("phase %s, %+v", b.last.Phase, inv.Entries)
	}
}

// An object that another graph lists is handed over before all nodes are ready: the
// other graph may own an object that this one waits for.
func TestHandOverEarly(t *testing.T) {
	stored := newEnv(t, nodes("b", "c"), nil, Options{}).complete()
	b := newEnv(t, nodes("a"), stored, Options{Prune: true})
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
	b.wantShow("a Failed OwnedElsewhere: belongs to graph default/other: apply that graph without it, or list it in spec.adopt.resources", "b Gone")
	if b.last.Phase != Stuck {
		t.Errorf("phase %s", b.last.Phase)
	}
	b.Observe(configMap(t, self, "a", "u-a", 9, "1")) // the other graph handed it over as well
	b.expect("Apply a")
	b.applyNext("u-a", 10)
	b.expect("Delete c")
	b.wantShow("a Ready", "b Gone", "c Deleting")
}

// An object that was absent some time ago is read again before its removal ends: a
// killed run may have created it since.
func TestPruneReadsAbsentAgain(t *testing.T) {
	stored := newEnv(t, nodes("a", "b"), nil, Options{}).complete()
	b := newEnv(t, neverReady, stored, Options{Prune: true})
	b.survey(configMap(t, self, "a", "u-a", 5, "1"))
	b.expect("")
	b.now = b.now.Add(time.Minute)
	b.expect("Record") // a timed out
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
	stored := newEnv(t, nodes("a", "b<a"), nil, Options{}).complete()
	e := NewDelete(stored, Options{Orphan: true})
	b := &env{T: t, Engine: e, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	b.survey(configMap(t, self, "a", "u-a", 50, "1"), configMap(t, self, "b", "u-b", 51, "1"))
	b.expect("LoadClaims")
	b.answer(LoadClaims, Outcome{})
	b.expect("Record") // the entries lose their nodes, so that no graph hands anything over
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
	stored := newEnv(t, nodes("a"), nil, Options{}).complete()
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

// An object that is annotated to be kept, or isn't any more, between its observation
// and its removal is read again, and then decided about.
func TestKeepChanged(t *testing.T) {
	b := pruning(t, Options{}, "a", "b")
	b.expect("LoadClaims")
	b.answer(LoadClaims, Outcome{})
	b.expect("Record")
	b.answer(Record, Outcome{})
	b.expect("Delete b")
	changed := Outcome{Err: &Failure{Reason: ReasonKeepChanged, Message: "was annotated since in another way"}}
	b.answer(Delete, changed)
	b.expect("Read b")
	kept := configMap(t, self, "b", "u-b", 90, "1")
	kept.SetAnnotations(map[string]string{"helm.sh/resource-policy": "keep"})
	b.answer(Read, Outcome{Object: kept})
	b.expect("Release b")
	if a := b.answer(Release, changed); a.Kept != "annotated helm.sh/resource-policy: keep" || a.ResourceVersion != "90" {
		t.Errorf("%+v", a)
	}
	b.expect("Read b")
	b.answer(Read, Outcome{Object: configMap(t, self, "b", "u-b", 91, "1")})
	b.expect("Delete b")
	b.answer(Delete, changed)
	b.expect("Read b")
	kept.SetResourceVersion("92")
	b.answer(Read, Outcome{Object: kept})
	b.expect("Release b")
	b.answer(Release, Outcome{Object: configMap(t, inventory.Owner{}, "b", "u-b", 93, "1")})
	b.expect("Record")
	b.wantShow("a Ready", "b Gone KeptByAnnotation: annotated helm.sh/resource-policy: keep")
}

// An object whose node has a field manager of its own is pruned also if the run was
// killed that created it, and the node is gone by now.
func TestPruneAnotherManagersIntent(t *testing.T) {
	stored := newEnv(t, nodes("a"), nil, Options{}).complete()
	key := inventory.Key{Kind: "ConfigMap", Namespace: "default", Name: "b"}
	stored.Entries = append(stored.Entries, inventory.Entry{Key: key, Version: "v1", Node: "b", Manager: "team"})
	b := newEnv(t, nodes("a"), stored, Options{Prune: true})
	applied := configMap(t, self, "b", "u-b", 60, "1")
	fields := applied.GetManagedFields()
	for i := range fields {
		fields[i].Manager = "team"
	}
	applied.SetManagedFields(fields)
	b.survey(configMap(t, self, "a", string(stored.Entries[0].UID), 50, "1"), applied)
	b.expect("LoadClaims")
	b.answer(LoadClaims, Outcome{})
	b.expect("Record")
	b.answer(Record, Outcome{})
	b.expect("Delete b")
}

// Objects that a later search finds are deleted, also if those that were known are gone.
func TestSearchAgainFindsMore(t *testing.T) {
	stored := newEnv(t, nodes("a"), nil, Options{}).complete()
	stored.Unsearched = []string{"example.com"}
	b := &env{T: t, Engine: NewDelete(stored, Options{}), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	b.expect("Survey")
	b.answer(Survey, Outcome{})
	b.expect("Survey") // in the group; the known object is gone
	if b.last.Phase == Completed {
		t.Error("the deletion is completed before the search")
	}
	b.answer(Survey, Outcome{Objects: []*unstructured.Unstructured{configMap(t, self, "b", "u-b", 60, "1")}})
	b.expect("LoadClaims")
	b.answer(LoadClaims, Outcome{})
	b.expect("Record")
	b.answer(Record, Outcome{})
	b.expect("Delete b")
}
