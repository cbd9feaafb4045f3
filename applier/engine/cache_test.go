package engine

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/inventory"
)

var keyA = inventory.Key{Kind: "ConfigMap", Namespace: "default", Name: "a"}

// Observations arrive late, repeatedly and in any order.
func TestObserveOrder(t *testing.T) {
	old := func(version int) *unstructured.Unstructured { return configMap(t, self, "a", "u-old", version, "1") }
	fresh := func(version int) *unstructured.Unstructured { return configMap(t, self, "a", "u-new", version, "1") }
	for _, test := range []struct {
		name string
		news func(e *Engine)
		want string
	}{
		{"newer", func(e *Engine) { e.Observe(old(1)); e.Observe(old(2)) }, "u-old 2"},
		{"older", func(e *Engine) { e.Observe(old(2)); e.Observe(old(1)) }, "u-old 2"},
		{"longer is newer", func(e *Engine) { e.Observe(old(10)); e.Observe(old(9)) }, "u-old 10"},
		{"older, of the object before", func(e *Engine) { e.Observe(fresh(5)); e.Observe(old(3)) }, "u-new 5"},
		{"gone, of the object before", func(e *Engine) { e.Observe(fresh(5)); e.ObserveGone(old(4)) }, "u-new 5"},
		{"gone may be without labels", func(e *Engine) { e.Observe(old(1)); e.ObserveGone(old(2)) }, "unknown"},
		{"gone before it was seen", func(e *Engine) { e.ObserveGone(old(2)); e.Observe(old(2)) }, "u-old 2"},
		{"gone, and older news", func(e *Engine) {
			deleting := old(2)
			deleting.Object["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
			e.Observe(deleting)
			e.ObserveGone(old(5))
			e.Observe(old(3))
			e.Observe(old(5))
		}, "absent 5"},
		{"gone and recreated", func(e *Engine) { e.put(keyA, absentObservation("5", e.step.now)); e.Observe(fresh(6)) }, "u-new 6"},
		{"versions that aren't numbers", func(e *Engine) {
			u := old(1)
			u.SetResourceVersion("x")
			e.Observe(old(7))
			e.Observe(u)
		}, "u-old x"},
		{"none of the graph's", func(e *Engine) { e.Observe(configMap(t, self, "z", "u-z", 1, "1")) }, "unknown"},
		{"the answer that it is gone", func(e *Engine) { e.Observe(old(1)); e.observeAbsent(keyA, e.cache.objects[keyA]) }, "absent 1"},
		{"the same, with news in between", func(e *Engine) {
			e.Observe(old(1))
			was := e.cache.objects[keyA]
			e.Observe(old(2))
			e.observeAbsent(keyA, was)
		}, "absent 2"},
		{"the same, with another object since", func(e *Engine) {
			e.Observe(old(1))
			was := e.cache.objects[keyA]
			e.Observe(fresh(2))
			e.observeAbsent(keyA, was)
		}, "unknown"},
		{"the same, made since it was asked", func(e *Engine) { e.Observe(fresh(2)); e.observeAbsent(keyA, nil) }, "unknown"},
	} {
		b := newEnv(t, nodes("a"), nil, Options{})
		test.news(b.Engine)
		got := "unknown"
		if o := b.cache.objects[keyA]; o != nil && o.absent {
			got = "absent " + o.version
		} else if o != nil {
			got = string(o.uid) + " " + o.version
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// The answer to a poll isn't mistaken for the one of an Apply in flight.
func TestPollDuringApply(t *testing.T) {
	b := newEnv(t, nodes("a"), nil, Options{PollInterval: time.Second})
	b.survey(live(t, self, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: u-old, resourceVersion: "1", deletionTimestamp: "2026-01-01T00:00:00Z"}}`))
	b.step()
	b.now = b.now.Add(2 * time.Second)
	b.expect("Read a")
	b.ObserveGone(configMap(t, self, "a", "u-old", 2, "1"))
	b.expect("Record")
	b.answer(Record, Outcome{})
	b.expect("Apply a")
	b.answer(Read, Outcome{}) // from before the Apply
	b.expect("")
	b.applyNext("u-new", 3)
	b.expect("Record")
	if b.Statuses()[0].Op != Created {
		t.Errorf("op %s", b.Statuses()[0].Op)
	}
}

func TestSurveyFails(t *testing.T) {
	b := newEnv(t, nodes("a", "b<a"), nil, Options{})
	b.expect("Survey")
	b.answer(Survey, Outcome{Err: errors.New("connection refused")})
	b.expect("")
	b.wantShow("a Failed ApplyFailed: the objects can't be read: connection refused", "b Failed ApplyFailed: the objects can't be read: connection refused")
	if b.last.Phase != Executing || b.last.Wake.IsZero() || len(b.last.Changes) != 2 || b.Statuses()[0].NextAttempt.IsZero() {
		t.Errorf("%+v", b.last)
	}
	b.now = b.last.Wake
	b.expect("Survey")
	// An observation of a watch in the meantime is newer than the Survey.
	b.Observe(configMap(t, self, "a", "u-a", 5, "1"))
	b.answer(Survey, Outcome{Unreadable: map[inventory.Key]error{{Kind: "ConfigMap", Namespace: "default", Name: "b"}: errors.New("x")}})
	b.expect("Record")
	b.answer(Record, Outcome{})
	if a := b.cache.objects[keyA]; a.absent {
		t.Error("a was seen, and the survey made it absent")
	}

	b = newEnv(t, nodes("a"), nil, Options{})
	b.step()
	b.answer(Survey, Outcome{Err: &Failure{Reason: ReasonForbidden, Message: "may not list", Terminal: true}})
	b.expect("")
	b.wantShow("a Failed Forbidden: the objects can't be read: may not list")
	if b.last.Phase != Stuck || b.Err() == nil || !b.Statuses()[0].NextAttempt.IsZero() {
		t.Errorf("%+v, error %v", b.last, b.Err())
	}
}

// A node whose object may not be read fails for good, and the others continue.
func TestReadForbidden(t *testing.T) {
	b := newEnv(t, nodes("a", "b"), nil, Options{})
	b.step()
	b.answer(Survey, Outcome{Unreadable: map[inventory.Key]error{keyA: errors.New("forbidden")}})
	b.expect("Read a, Record")
	b.answer(Record, Outcome{})
	b.answer(Read, Outcome{Err: &Failure{Reason: ReasonForbidden, Message: "may not get", Terminal: true}})
	b.expect("Apply b")
	b.wantShow("a Failed Forbidden: may not get", "b Applying")
	b.applyNext("u-b", 1)
	b.step()
	b.answer(Record, Outcome{})
	b.expect("")
	if b.last.Phase != Stuck {
		t.Errorf("phase %s", b.last.Phase)
	}
	b.Observe(configMap(t, self, "a", "u-a", 2, "1"))
	b.expect("Apply a")
}

func TestRecordFails(t *testing.T) {
	b := newEnv(t, nodes("a"), nil, Options{})
	b.survey()
	b.expect("Record")
	b.answer(Record, Outcome{Err: errors.New("timed out")})
	b.expect("")
	b.wantShow("a Failed ApplyFailed: the inventory can't be written: timed out")
	b.now = b.last.Wake
	b.expect("Record")
	b.answer(Record, Outcome{Err: &Failure{Reason: ReasonForbidden, Message: "may not", Terminal: true}})
	b.expect("")
	if b.last.Phase != Stuck || b.Err() == nil {
		t.Errorf("phase %s, error %v", b.last.Phase, b.Err())
	}
}

// Another run of the same revision saved the inventory: entries of objects that this
// run applied are kept, the others are taken from the saved inventory.
func TestRebase(t *testing.T) {
	b := newEnv(t, nodes("a", "b"), nil, Options{})
	b.survey()
	b.step()
	b.answer(Record, Outcome{})
	b.step()
	b.applyNext("u-a", 1)
	stored := &inventory.Inventory{Owner: self, Revision: b.revision, Stored: "newer", Entries: []inventory.Entry{
		{Key: keyA, Node: "a", UID: "u-stale", Version: "v1"},
		{Key: inventory.Key{Kind: "ConfigMap", Namespace: "default", Name: "b"}, Node: "b", UID: "u-b", Version: "v1"},
		{Key: inventory.Key{Kind: "ConfigMap", Namespace: "default", Name: "left"}, UID: "u-left", Version: "v1"},
	}}
	b.Rebase(stored)
	got := map[string]string{}
	for _, e := range b.Inventory().Entries {
		got[e.Name] = string(e.UID)
	}
	if len(got) != 3 || got["a"] != "u-a" || got["b"] != "u-b" || got["left"] != "u-left" || b.Inventory().Stored != "newer" {
		t.Errorf("entries %v of %v", got, b.Inventory().Stored)
	}
	if inv, unsaved := b.UnsavedInventory(); !unsaved || inv.Revision != b.revision {
		t.Errorf("unsaved %t: %+v", unsaved, inv)
	}
}

// A kind that the graph defines has the scope of its definition. If the scope is
// unknown, an object is found with and without a namespace.
func TestScope(t *testing.T) {
	const crd = `{id: crd, resource: {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.example.com},
		spec: {group: example.com, scope: Cluster, names: {kind: Thing, plural: things}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}}`
	const thing = `{id: thing, resource: {apiVersion: example.com/v1, kind: Thing, metadata: {name: x}}}`
	b := newEnv(t, "graph: {nodes: ["+crd+","+thing+"]}", nil, Options{})
	if key := b.nodes.byID["thing"].key; key.Namespace != "" {
		t.Errorf("key %v", key)
	}
	b = newEnv(t, "graph: {nodes: ["+thing+"]}", nil, Options{})
	u := live(t, self, `{apiVersion: example.com/v1, kind: Thing, metadata: {name: x, uid: u-x, resourceVersion: "1"}}`)
	u.SetNamespace("")
	b.Observe(u)
	if o := b.cache.objects[b.nodes.byID["thing"].key]; o == nil || o.uid != "u-x" {
		t.Errorf("the object wasn't taken for the node's: %+v", b.cache.objects)
	}
}
