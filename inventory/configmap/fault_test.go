package configmap

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// Of several who load the same and save something else, one succeeds.
func TestTwoSavers(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	owner := inventory.Owner{Namespace: c.Namespace, Name: "web"}
	for _, limit := range []int{partLimit, 500} {
		for round := range 5 {
			const savers = 4
			var group sync.WaitGroup
			results := make([]error, savers)
			loaded := make([]*inventory.Inventory, savers)
			s := connect(t, c.Config)
			s.limit = limit
			for i := range loaded {
				loaded[i] = load(t, s, owner)
				loaded[i].Entries = holding(c.Namespace, 3+savers*round+i).Entries
				loaded[i].Revision = fmt.Sprintf("limit %d, round %d, saver %d", limit, round, i)
			}
			for i := range loaded {
				group.Go(func() { results[i] = s.Save(t.Context(), loaded[i]) })
			}
			group.Wait()
			winner := -1
			for i, err := range results {
				switch {
				case err == nil && winner >= 0:
					t.Errorf("round %d: both %d and %d saved", round, winner, i)
				case err == nil:
					winner = i
				case !isConflict(err):
					t.Errorf("round %d: %v", round, err)
				}
			}
			if winner < 0 {
				t.Fatalf("round %d: nobody saved: %v", round, results)
			}
			same(t, loaded[winner], load(t, s, owner))
			if loser := loaded[(winner+1)%savers]; storedState(loser).exists() {
				if err := s.Remove(t.Context(), loser); !isConflict(err) {
					t.Errorf("round %d: a loser removes it: %v", round, err)
				}
			}
			loaded[winner].Complete = true
			save(t, s, loaded[winner])
		}
	}
	s := connect(t, c.Config)
	stale, current := load(t, s, owner), load(t, s, owner)
	if err := s.Remove(t.Context(), current); err != nil {
		t.Fatal(err)
	}
	stale.Revision = "stale"
	if err := s.Save(t.Context(), stale); !isConflict(err) {
		t.Errorf("saving what was removed: %v", err)
	}
	save(t, s, holding(c.Namespace, 1))
	if err := s.Save(t.Context(), stale); !isConflict(err) {
		t.Errorf("saving what was removed and made anew: %v", err)
	}
	if err := s.Remove(t.Context(), stale); !isConflict(err) {
		t.Errorf("removing what was removed and made anew: %v", err)
	}
}

// A writer that ends after any of its requests leaves the old inventory or the
// new one, and nothing of what it left outlives the next save.
func TestKilledWriter(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	proxy := c.Proxy(t, 1)
	user := c.ServiceAccount(t, c.Namespace, "admin")
	allow(t, c, "admin", "get", "list", "create", "patch", "delete")
	s, victim := connect(t, c.Config), connect(t, proxy.Config(user))
	s.limit, victim.limit = 500, 500
	for _, change := range []struct{ name, from, to string }{{"grows", "small", "large"}, {"shrinks", "large", "small"}, {"changes", "large", "larger"}, {"begins", "", "large"}} {
		sizes := map[string]int{"small": 1, "large": 10, "larger": 14}
		for requests := 0; ; requests++ {
			owner := inventory.Owner{Namespace: c.Namespace, Name: fmt.Sprintf("%s-%d", change.name, requests)}
			before := &inventory.Inventory{Owner: owner}
			if change.from != "" {
				before = &inventory.Inventory{Owner: owner, Revision: "before", Entries: holding("", sizes[change.from]).Entries}
				save(t, s, before)
			}
			after := load(t, victim, owner)
			after.Revision, after.Entries = "after", holding("", sizes[change.to]).Entries
			proxy.Reset()
			// From then on the writer is as good as dead.
			proxy.Inject(faults.Rule{Skip: requests, Faults: []faults.Fault{faults.Drop{}}})
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			err := victim.Save(ctx, after)
			cancel()
			faults := len(proxy.Faults())
			proxy.Inject()

			got := load(t, s, owner)
			switch {
			case got.Revision == "after":
				same(t, after, got)
			case got.Revision == "" && change.from == "":
				same(t, before, got)
			default:
				same(t, before, got)
			}
			if err == nil && got.Revision != "after" {
				t.Errorf("%s, %d requests: saved and not there", change.name, requests)
			}
			got.Revision, got.Entries = "last", holding("", 7).Entries
			save(t, s, got)
			same(t, got, load(t, s, owner))
			wanted(t, c, s, got)
			if err := s.Remove(t.Context(), got); err != nil {
				t.Error(err)
			}
			if faults == 0 {
				break
			}
		}
	}
}

// wanted fails if there are parts of an inventory that it doesn't need.
func wanted(t *testing.T, c *harness.Cluster, s *Store, inv *inventory.Inventory) {
	t.Helper()
	text, err := inventory.Encode(inv)
	if err != nil {
		t.Fatal(err)
	}
	want := 1
	if len(text) > s.limit {
		want += len(inventory.Split(text, s.limit))
	}
	list, err := c.Client.CoreV1().ConfigMaps(c.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "pequod.io/inventory,pequod.io/graph=" + inv.Owner.Name})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != want {
		t.Errorf("%s: %d ConfigMaps, want %d", inv.Owner, len(list.Items), want)
	}
}

// While several change an inventory again and again, and are slow to remove what
// they leave behind, everybody reads a whole one at any time.
func TestReadersAndWriters(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	proxy := c.Proxy(t, 1)
	user := c.ServiceAccount(t, c.Namespace, "admin")
	allow(t, c, "admin", "get", "list", "create", "patch", "delete")
	proxy.Inject(faults.Rule{Verbs: []string{"delete"}, Rate: 0.7, Faults: []faults.Fault{
		faults.Delay{For: 20 * time.Millisecond}, faults.Delay{For: 5 * time.Millisecond}, faults.Drop{}, faults.Cut{},
	}})
	owner := inventory.Owner{Namespace: c.Namespace, Name: "web"}
	var writers, readers sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for i := range 4 {
		s := connect(t, proxy.Config(user))
		s.limit = 500
		random := rand.New(rand.NewPCG(uint64(i), 0))
		writers.Go(func() {
			for saved := 0; saved < 15; {
				inv, err := s.Load(ctx, owner)
				if err != nil {
					t.Error(err)
					return
				}
				// Few contents, so that parts come again that are being removed.
				inv.Entries = holding("", 10*random.IntN(3)).Entries
				inv.Complete = !inv.Complete
				switch err := s.Save(ctx, inv); {
				case err == nil:
					saved++
				case !isConflict(err):
					t.Error(err)
					return
				}
			}
		})
	}
	direct := connect(t, c.Config)
	readers.Go(func() {
		for ctx.Err() == nil {
			if _, err := direct.Load(ctx, owner); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	})
	writers.Wait()
	stop()
	readers.Wait()
	direct.limit = 500
	inv := load(t, direct, owner)
	inv.Revision = "last"
	save(t, direct, inv)
	wanted(t, c, direct, inv)
}

// What was saved without an answer, and taken back, is written again: that it is
// what was loaded doesn't mean that it is what is stored.
func TestTakenBack(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	proxy := c.Proxy(t, 1)
	user := c.ServiceAccount(t, c.Namespace, "admin")
	allow(t, c, "admin", "get", "list", "create", "patch", "delete")
	direct, s := connect(t, c.Config), connect(t, proxy.Config(user))
	owner := inventory.Owner{Namespace: c.Namespace, Name: "web"}
	save(t, direct, holding(c.Namespace, 1))

	lose := func(inv *inventory.Inventory) {
		t.Helper()
		proxy.Inject(faults.Rule{Verbs: []string{"patch"}, Times: 1, Faults: []faults.Fault{faults.Cut{}}})
		inv.Complete = true
		if err := s.Save(t.Context(), inv); err == nil || !load(t, direct, owner).Complete {
			t.Fatalf("not saved without an answer: %v", err)
		}
		inv.Complete = false
	}
	inv := load(t, s, owner)
	lose(inv)
	save(t, s, inv)
	same(t, inv, load(t, direct, owner))

	lose(inv)
	// Whoever removes it finds out what is stored, and then doesn't succeed.
	proxy.Inject(faults.Rule{Verbs: []string{"delete"}, Skip: 1, Faults: []faults.Fault{faults.Drop{}}})
	if err := s.Remove(t.Context(), inv); err == nil || isConflict(err) {
		t.Fatalf("removed: %v", err)
	}
	proxy.Inject()
	save(t, s, inv)
	same(t, inv, load(t, direct, owner))
}

// A removal whose answer was lost, and which is then refused by a server that
// claims a conflict, has succeeded: the inventory is gone. (The conflict was
// taken for another writer's change once.)
func TestRemovedWithoutAnswer(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	proxy := c.Proxy(t, 1)
	user := c.ServiceAccount(t, c.Namespace, "admin")
	allow(t, c, "admin", "get", "list", "create", "patch", "delete")
	direct, s := connect(t, c.Config), connect(t, proxy.Config(user))
	owner := inventory.Owner{Namespace: c.Namespace, Name: "web"}
	save(t, direct, holding(c.Namespace, 1))
	inv := load(t, s, owner)
	removal := []string{"delete"}
	proxy.Inject(
		faults.Rule{Verbs: removal, Times: 1, Faults: []faults.Fault{faults.Cut{}}},
		faults.Rule{Verbs: removal, Times: 1, Faults: []faults.Fault{faults.Status{Code: 409}}},
	)
	if err := s.Remove(t.Context(), inv); err == nil || isConflict(err) {
		t.Fatalf("removed with an answer: %v", err)
	}
	if err := s.Remove(t.Context(), inv); err != nil {
		t.Errorf("removed already: %v", err)
	}
	same(t, &inventory.Inventory{Owner: owner}, load(t, direct, owner))
	inv.Revision = "again"
	save(t, s, inv)
}

// However the API server answers, and whichever answers are lost, who tries
// again gets there, without a conflict with itself and without losing a part.
func TestFaults(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	proxy := c.Proxy(t, 7)
	user := c.ServiceAccount(t, c.Namespace, "admin")
	allow(t, c, "admin", "get", "list", "create", "patch", "delete")
	direct, s := connect(t, c.Config), connect(t, proxy.Config(user))
	direct.limit, s.limit = 1000, 1000
	owner := inventory.Owner{Namespace: c.Namespace, Name: "web"}
	proxy.Inject(faults.Rule{Rate: 0.35, Faults: []faults.Fault{
		faults.Status{Code: 409}, faults.Status{Code: 429}, faults.Status{Code: 500},
		faults.Timeout{}, faults.Cut{}, faults.Cut{After: 100}, faults.Drop{},
	}})
	random := rand.New(rand.NewPCG(1, 2))
	again := func(try func() error) {
		t.Helper()
		for range 200 {
			err := try()
			if err == nil {
				return
			}
			if isConflict(err) {
				t.Fatal(err)
			}
		}
		t.Fatal("it doesn't end")
	}
	inv := &inventory.Inventory{Owner: owner}
	for step := range 60 {
		switch random.IntN(6) {
		case 0:
			again(func() (err error) { inv, err = s.Load(t.Context(), owner); return err })
		case 1:
			again(func() error { return s.Remove(t.Context(), inv) })
			same(t, &inventory.Inventory{Owner: owner}, load(t, direct, owner))
			inv = &inventory.Inventory{Owner: owner}
		default:
			again(func() error {
				// What is to be saved may change between two tries, and back.
				inv.Revision = fmt.Sprint(step, random.IntN(2))
				inv.Entries = holding("", random.IntN(3)*10).Entries
				return s.Save(t.Context(), inv)
			})
			same(t, inv, load(t, direct, owner))
		}
	}
	if len(proxy.Faults()) < 4 {
		t.Errorf("faults: %v", proxy.Faults())
	}
	proxy.Inject()
	inv = load(t, direct, owner)
	inv.Revision = "last"
	save(t, direct, inv)
	wanted(t, c, direct, inv)
}
