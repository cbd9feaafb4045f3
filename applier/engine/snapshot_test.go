package engine

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/inventory"
)

// A graph that was never executed is applied without a look at what there is.
func TestFresh(t *testing.T) {
	b := newBench(t, nodes("a"), nil, Options{NeverApplied: true})
	b.expect("Record")
	b.answer(Record, Outcome{})
	b.expect("Apply a")
	// It exists already: it is read at once, and judged as what it is.
	b.answer(Apply, Outcome{Err: &Failure{Reason: ReasonExists, Message: "exists already"}})
	b.expect("Read a")
	b.answer(Read, Outcome{Object: configMap(t, inventory.Owner{}, "a", "u-a", 5, "x")})
	b.expect("")
	b.wantShow("a Failed AdoptionRequired: exists already and belongs to no graph: list it in spec.adopt, or set applyPolicy.mode: Adopt")
	if b.last.Phase != Stuck || b.last.PhaseAfterRecord != Stuck {
		t.Errorf("phase %s, outlook %s", b.last.Phase, b.last.PhaseAfterRecord)
	}
}

// What has an inventory isn't fresh, whatever the driver says.
func TestFreshWithInventory(t *testing.T) {
	stored := &inventory.Inventory{Owner: self, Revision: "old"}
	b := newBench(t, nodes("a"), stored, Options{NeverApplied: true})
	b.expect("Survey")
}

// rested is a graph of one ConfigMap that is complete, and its rest.
func rested(t *testing.T) (*bench, *Snapshot) {
	b := newBench(t, nodes("a"), nil, Options{Prune: true})
	b.complete()
	return b, b.Snapshot()
}

func TestRestTellsWhatMatters(t *testing.T) {
	gk := schema.GroupKind{Kind: "ConfigMap"}
	same := func(b *bench, version int) *unstructured.Unstructured {
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
		see  func(*bench, *Snapshot) bool
		want bool
	}{
		{"as it was", func(b *bench, r *Snapshot) bool { return r.Observe(same(b, 100)) }, false},
		{"older", func(b *bench, r *Snapshot) bool { return r.Observe(configMap(t, self, "a", "u-z", 0, "9")) }, false},
		{"drifted", func(b *bench, r *Snapshot) bool {
			return r.Observe(configMap(t, self, "a", string(same(b, 1).GetUID()), 100, "9"))
		}, true},
		{"another of its name", func(b *bench, r *Snapshot) bool { return r.Observe(configMap(t, self, "a", "u-z", 100, "1")) }, true},
		{"labels of another graph", func(b *bench, r *Snapshot) bool { return r.Observe(relabelled(same(b, 100))) }, true},
		{"not the graph's", func(b *bench, r *Snapshot) bool { return r.Observe(configMap(t, self, "z", "u-z", 100, "1")) }, false},
		{"gone", func(b *bench, r *Snapshot) bool { return r.ObserveGone(same(b, 100)) }, true},
		{"gone long ago", func(b *bench, r *Snapshot) bool { return r.ObserveGone(configMap(t, self, "a", "u-z", 100, "1")) }, false},
		{"listed", func(b *bench, r *Snapshot) bool {
			return r.ObserveAll(gk, "default", "", "101", []unstructured.Unstructured{*same(b, 100)})
		}, false},
		{"not listed", func(b *bench, r *Snapshot) bool { return r.ObserveAll(gk, "default", "", "101", nil) }, true},
		{"not listed, before it was seen", func(b *bench, r *Snapshot) bool { return r.ObserveAll(gk, "default", "", "0", nil) }, false},
		{"not listed, elsewhere", func(b *bench, r *Snapshot) bool { return r.ObserveAll(gk, "other", "", "101", nil) }, false},
		{"not listed, of another kind", func(b *bench, r *Snapshot) bool {
			return r.ObserveAll(schema.GroupKind{Kind: "Secret"}, "default", "", "101", nil)
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			b, r := rested(t)
			if got := test.see(b, r); got != test.want {
				t.Errorf("matters: %t; want %t", got, test.want)
			}
			// What matters is read by who resumes; all else is known.
			next := newBench(t, nodes("a"), b.Inventory(), Options{Prune: true})
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
	b, r := rested(t)
	next := newBench(t, nodes("a", "b"), b.Inventory(), Options{Prune: true})
	if next.Resume(r) {
		t.Error("resumes another revision")
	}
	next.expect("Survey")
}

func TestHeld(t *testing.T) {
	stored := &inventory.Inventory{Owner: self, Revision: "old", Entries: []inventory.Entry{
		{Key: inventory.Key{Kind: "ConfigMap", Namespace: "default", Name: "left"}, Version: "v1", UID: "u-left"},
	}}
	b := newBench(t, nodes("a"), stored, Options{Prune: true})
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

func TestNameDrift(t *testing.T) {
	b := newBench(t, nodes("a"), nil, Options{Drift: ReportDriftedFields})
	b.complete()
	uid := string(b.Inventory().Entries[0].UID)
	b.Observe(configMap(t, self, "a", uid, 20, "9"))
	b.expect("Compare a")
	b.answer(Compare, Outcome{Taken: []Conflict{{Field: "data.a", Manager: "somebody"}}})
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
