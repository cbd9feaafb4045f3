package inventory

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"
)

// world is a cluster and one graph's inventory of it. A kind can move between
// two groups, under both of which its objects are then reached.
type world struct {
	random  *rand.Rand
	live    map[Key]object // by ungrouped key
	count   int            // of objects ever made
	entries []Entry
}

type object struct {
	uid  types.UID
	ours bool // by its labels
}

func newWorld(seed, stream uint64) *world {
	return &world{random: rand.New(rand.NewPCG(seed, stream)), live: map[Key]object{}}
}

func (w *world) make(k Key, ours bool) {
	w.count++
	w.live[ungrouped(k)] = object{types.UID(fmt.Sprint(w.count)), ours}
}

// meddle deletes some objects that the graph made, and puts those of others in
// the place of some.
func (w *world) meddle() {
	for i := range 8 {
		k := Key{"", "Ingress", "default", fmt.Sprint("o", i)}
		switch w.random.IntN(12) {
		case 0:
			delete(w.live, k)
		case 1:
			w.make(k, false)
		}
	}
}

// graph is some desired entries, no object in it twice.
func (w *world) graph() []Entry {
	var desired []Entry
	for i := range 8 {
		if w.random.IntN(2) == 0 {
			continue
		}
		group := []string{"extensions", "networking.k8s.io"}[w.random.IntN(2)]
		k := Key{group, "Ingress", "default", fmt.Sprint("o", i)}
		desired = append(desired, Entry{Key: k, Version: fmt.Sprint("v", w.random.IntN(2)), Node: fmt.Sprint("n", w.random.IntN(100)), Wave: w.random.IntN(4)})
	}
	w.random.Shuffle(len(desired), func(i, j int) { desired[i], desired[j] = desired[j], desired[i] })
	return desired
}

// run is one run of a graph, which may be killed after any step.
func (w *world) run(t *testing.T, desired []Entry, killed func() bool) {
	w.entries = Union(w.entries, desired)
	w.check(t)
	ready := true
	for _, e := range desired {
		if killed() {
			return
		}
		live, exists := w.live[ungrouped(e.Key)]
		if exists && !live.ours {
			ready = false
			continue
		}
		if !exists {
			w.make(e.Key, true)
		}
		if killed() { // applied, and not yet recorded
			w.check(t)
			return
		}
		e.UID, e.Desired = w.live[ungrouped(e.Key)].uid, "applied"
		w.entries = Union(w.entries, []Entry{e})
		w.check(t)
	}
	if !ready {
		return
	}
	var gone []Key
	kept := Kept(w.entries, desired)
	for _, wave := range Leaving(w.entries, desired) {
		for _, e := range wave {
			if killed() { // or refused
				continue
			}
			if live := w.live[ungrouped(e.Key)]; live.ours && !kept[live.uid] {
				delete(w.live, ungrouped(e.Key))
			}
			gone = append(gone, e.Key)
		}
	}
	w.entries = Survivors(w.entries, desired, gone)
	w.check(t)
}

// check holds that everything that is the graph's is in the inventory, and
// that entries are sorted and unique.
func (w *world) check(t *testing.T) {
	t.Helper()
	listed := map[Key]bool{}
	for _, e := range w.entries {
		listed[ungrouped(e.Key)] = true
	}
	for k, o := range w.live {
		if o.ours && !listed[k] {
			t.Fatalf("%s (%s) is lost; the inventory has %v", k, o.uid, w.entries)
		}
	}
	sorted := slices.Clone(w.entries)
	Sort(sorted)
	if !slices.Equal(sorted, w.entries) {
		t.Fatalf("not sorted: %v", w.entries)
	}
	if len(byKey(sorted)) != len(sorted) {
		t.Fatalf("a key stands in it twice: %v", w.entries)
	}
}

// After runs of random graphs that end anywhere, in a cluster where others
// delete and replace objects, one whole run leaves in the cluster and in the
// inventory exactly what its graph desires. What was desired all along is never
// deleted, nor is what others made.
func TestRunsConverge(t *testing.T) {
	for seed := range uint64(1500) {
		w := newWorld(seed, 0)
		always := intent(Key{"networking.k8s.io", "Ingress", "default", "always"}, "always", 0)
		sometimes := func() bool { return w.random.IntN(12) == 0 }
		for range w.random.IntN(8) {
			always.Node, always.Wave = fmt.Sprint("n", w.random.IntN(100)), w.random.IntN(4)
			w.meddle()
			before := maps.Clone(w.live)
			w.run(t, append(w.graph(), always), sometimes)
			for k, o := range before {
				if (!o.ours || k == ungrouped(always.Key)) && w.live[k] != o {
					t.Fatalf("seed %d: %s was touched", seed, k)
				}
			}
		}
		maps.DeleteFunc(w.live, func(_ Key, o object) bool { return !o.ours })
		desired := append(w.graph(), always)
		w.run(t, desired, func() bool { return false })
		want, got := map[Key]bool{}, map[Key]bool{}
		for _, e := range desired {
			want[ungrouped(e.Key)] = true
		}
		for k := range w.live {
			got[k] = true
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: live (-want +got):\n%s", seed, diff)
		}
		if diff := cmp.Diff(keysOf(desired), keysOf(w.entries)); diff != "" {
			t.Fatalf("seed %d: inventory (-want +got):\n%s", seed, diff)
		}
	}
}

// keysOf are the keys of entries, sorted.
func keysOf(entries []Entry) []Key {
	return slices.SortedFunc(maps.Keys(byKey(entries)), Key.Compare)
}

func TestLaws(t *testing.T) {
	for seed := range uint64(1000) {
		w := newWorld(seed, 1)
		a, b := w.graph(), w.graph()
		w.run(t, a, func() bool { return w.random.IntN(10) == 0 })
		old := w.entries
		union := Union(old, b)
		equal := func(law string, want, got any) {
			t.Helper()
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("seed %d: %s (-want +got):\n%s", seed, law, diff)
			}
		}
		equal("union with nothing is the same", old, Union(old, nil))
		equal("union twice is union once", union, Union(union, b))
		equal("a union's keys are those of both", keysOf(append(slices.Clone(old), b...)), keysOf(union))
		equal("recording the intent changes nothing about what leaves", Leaving(old, b), Leaving(union, b))
		equal("nothing leaves what is desired", [][]Entry(nil), Leaving(union, union))
		var gone []Key
		for _, wave := range Leaving(union, b) {
			for _, e := range wave {
				gone = append(gone, e.Key)
			}
		}
		survivors := Survivors(union, b, gone)
		equal("nothing is left of what is gone", survivors, slices.DeleteFunc(slices.Clone(survivors), func(e Entry) bool {
			return slices.Contains(gone, e.Key)
		}))
		equal("surviving twice is surviving once", survivors, Survivors(survivors, b, gone))
		equal("a failed prune loses nothing that leaves", Leaving(union, b), Leaving(Survivors(union, b, nil), b))
		back := Union(Union(union, b), a)
		for _, wave := range Leaving(back, a) {
			for _, e := range wave {
				if slices.ContainsFunc(a, func(d Entry) bool { return d.Key == e.Key }) {
					t.Fatalf("seed %d: A→B→A prunes %s of A", seed, e.Key)
				}
			}
		}
		text, err := Encode(&Inventory{Owner: Owner{"default", "web"}, Entries: union})
		if err != nil {
			t.Fatal(err)
		}
		read, err := Decode(text)
		if err != nil {
			t.Fatal(err)
		}
		equal("what is read is what was written", union, read.Entries)
	}
}
