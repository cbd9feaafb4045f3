package engine

import (
	"slices"
	"testing"
	"unsafe"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/inventory"
)

// A graph that was never applied needs no Survey.
func TestNeverApplied(t *testing.T) {
	b := newEnv(t, nodes("a"), nil, Options{NeverApplied: true})
	b.expect("Record")
	b.answer(Record, Outcome{})
	b.expect("Apply a")
	// The object exists already, so it is read at once.
	b.answer(Apply, Outcome{Err: &Failure{Reason: ReasonExists, Message: "exists already"}})
	b.expect("Read a")
	b.answer(Read, Outcome{Object: configMap(t, inventory.Owner{}, "a", "u-a", 5, "x")})
	b.expect("")
	b.wantShow("a Failed AdoptionRequired: exists already and belongs to no graph: list it in spec.adopt.resources, or set applyPolicy.mode: Adopt")
	if b.last.Phase != Stuck || b.last.PhaseAfterRecord != Stuck {
		t.Errorf("phase %s, outlook %s", b.last.Phase, b.last.PhaseAfterRecord)
	}
}

// A graph with an inventory is surveyed even if the driver sets NeverApplied.
func TestNeverAppliedWithInventory(t *testing.T) {
	stored := &inventory.Inventory{Owner: self, Revision: "old"}
	b := newEnv(t, nodes("a"), stored, Options{NeverApplied: true})
	b.expect("Survey")
}

// completed returns a Completed graph of one ConfigMap and its snapshot.
func completed(t *testing.T) (*env, *Snapshot) { return completedNamed(t, "a") }

// completedNamed is completed for another name of the ConfigMap.
func completedNamed(t *testing.T, name string) (*env, *Snapshot) {
	b := newEnv(t, nodes(name), nil, Options{Prune: true})
	b.complete()
	return b, b.Snapshot()
}

// There are very many objects in snapshots: each takes little memory besides the strings
// that identify it. The owner, which most objects have in common, takes none.
func TestSnapshotIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(snapshotObject{}); size > 88 {
		t.Errorf("an object takes %d bytes", size)
	}
	_, s := completed(t)
	_, other := completedNamed(t, "z")
	if o, another := &s.objects[0], &other.objects[0]; o.traits != another.traits || o.comparison != another.comparison {
		t.Errorf("objects of two graphs share nothing: %+v, %+v", o, another)
	}
}

func TestSnapshotObserve(t *testing.T) {
	gk := schema.GroupKind{Kind: "ConfigMap"}
	same := func(b *env, version int) *unstructured.Unstructured {
		a := b.Inventory().Entries[0]
		return configMap(t, self, "a", string(a.UID), version, "1")
	}
	relabelled := func(u *unstructured.Unstructured) *unstructured.Unstructured {
		labels := u.GetLabels()
		labels["pequod.io/graph"] = "other"
		u.SetLabels(labels)
		return u
	}
	for _, test := range []struct {
		name string
		see  func(*env, *Snapshot) bool
		want bool
	}{
		{"as it was", func(b *env, r *Snapshot) bool { return r.Observe(same(b, 100)) }, false},
		{"older", func(b *env, r *Snapshot) bool { return r.Observe(configMap(t, self, "a", "u-z", 0, "9")) }, false},
		{"drifted", func(b *env, r *Snapshot) bool {
			return r.Observe(configMap(t, self, "a", string(same(b, 1).GetUID()), 100, "9"))
		}, true},
		{"another of its name", func(b *env, r *Snapshot) bool { return r.Observe(configMap(t, self, "a", "u-z", 100, "1")) }, true},
		{"labels of another graph", func(b *env, r *Snapshot) bool { return r.Observe(relabelled(same(b, 100))) }, true},
		{"not the graph's", func(b *env, r *Snapshot) bool { return r.Observe(configMap(t, self, "z", "u-z", 100, "1")) }, false},
		{"gone", func(b *env, r *Snapshot) bool { return r.ObserveGone(same(b, 100)) }, true},
		{"gone long ago", func(b *env, r *Snapshot) bool { return r.ObserveGone(configMap(t, self, "a", "u-z", 100, "1")) }, false},
		{"listed", func(b *env, r *Snapshot) bool {
			return r.ObserveAll(gk, "default", "", "101", []unstructured.Unstructured{*same(b, 100)})
		}, false},
		{"not listed", func(b *env, r *Snapshot) bool { return r.ObserveAll(gk, "default", "", "101", nil) }, true},
		{"not listed, before it was seen", func(b *env, r *Snapshot) bool { return r.ObserveAll(gk, "default", "", "0", nil) }, false},
		{"not listed, elsewhere", func(b *env, r *Snapshot) bool { return r.ObserveAll(gk, "other", "", "101", nil) }, false},
		{"not listed, of another kind", func(b *env, r *Snapshot) bool {
			return r.ObserveAll(schema.GroupKind{Kind: "Secret"}, "default", "", "101", nil)
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			b, r := completed(t)
			if got := test.see(b, r); got != test.want {
				t.Errorf("matters: %t; want %t", got, test.want)
			}
			// An engine that resumes reads only the objects whose changes matter.
			next := newEnv(t, nodes("a"), b.Inventory(), Options{Prune: true})
			if !next.Resume(r) {
				t.Fatal("doesn't resume")
			}
			want := ""
			if test.want {
				want = "Read a"
			}
			next.expect(want)
		})
	}
}

func TestResumeOnlyTheSameRevision(t *testing.T) {
	b, r := completed(t)
	next := newEnv(t, nodes("a", "b"), b.Inventory(), Options{Prune: true})
	if next.Resume(r) {
		t.Error("resumes another revision")
	}
	next.expect("Survey")
}

func TestTracked(t *testing.T) {
	stored := &inventory.Inventory{Owner: self, Revision: "old", Entries: []inventory.Entry{
		{Key: inventory.Key{Kind: "ConfigMap", Namespace: "default", Name: "left"}, Version: "v1", UID: "u-left"},
	}}
	b := newEnv(t, nodes("a"), stored, Options{Prune: true})
	var names []string
	for _, held := range b.Tracked() {
		if !held.Labeled {
			t.Errorf("%s isn't ours", held.Key)
		}
		names = append(names, held.Name)
	}
	if !slices.Equal(names, []string{"a", "left"}) {
		t.Errorf("held: %v", names)
	}
}

func TestReportDriftedFields(t *testing.T) {
	b := newEnv(t, nodes("a"), nil, Options{Drift: ReportDriftedFields})
	b.complete()
	uid := string(b.Inventory().Entries[0].UID)
	b.Observe(configMap(t, self, "a", uid, 20, "9"))
	b.expect("Compare a")
	b.answer(Compare, Outcome{Taken: []Conflict{{Field: "data.a", Manager: "other-manager"}}})
	b.expect("")
	if s := b.Statuses()[0]; !s.Drifted || len(s.Taken) != 1 || s.Phase != "Ready" {
		t.Errorf("%+v", s)
	}
	b.Observe(configMap(t, self, "a", uid, 21, "1"))
	b.expect("")
	if b.Statuses()[0].Drifted {
		t.Error("what is as it should be still drifts")
	}
}
