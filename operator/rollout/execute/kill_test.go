package execute_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// kills is the number of managers that TestKilled kills.
const kills = 50

// Managers that are killed at random moments, without an answer to the requests that are under
// way, change no instance twice, and no instance of a batch before all of the batches before.
func TestKilled(t *testing.T) {
	t.Parallel()
	const instances, seed = 20, 7
	random := rand.New(rand.NewPCG(seed, 1))
	b := newEnv(t)
	proxy := b.Proxy(t, seed)
	b.start(b.Config)
	b.create(b.module("", ""), sizes(1, "25%", "60%"))
	var names []string
	for i := range instances {
		names = append(names, fmt.Sprintf("web-%02d", i))
		b.apply(names[i], `{"text": "one"}`, "")
	}
	b.ready(instances)
	b.stop()
	targets := []int{1, 5, 12, 20}
	// A rollout takes some seconds, so several of them are disturbed.
	version, killed := 0, 0
	for killed < kills {
		version++
		b.update(b.module("", fmt.Sprintf(`version: "%d"`, version)))
		before := len(b.history.all())
		for {
			b.start(proxy.Config(b.Config))
			if b.ends(time.Duration(random.IntN(1500)) * time.Millisecond) {
				b.stop()
				break
			}
			if err := proxy.Down(); err != nil {
				t.Fatal(err)
			}
			b.stop()
			if err := proxy.Up(); err != nil {
				t.Fatal(err)
			}
			if killed++; killed%10 == 0 {
				b.newPool()
			}
		}
		b.until(func(*v1alpha1.Transform) error { // the watch may be late
			if len(b.history.all()) < before+instances {
				return errors.New("instances have not changed")
			}
			return nil
		})
		changed := b.history.all()[before:]
		var order []string
		for _, c := range changed {
			order = append(order, c.name)
		}
		if got := slices.Compact(sorted(slices.Clone(order))); !slices.Equal(got, names) || len(order) != instances {
			t.Fatalf("version %d: changed %v", version, order)
		}
		// All change alike, so the order within the batches is that of the names.
		for i, target := range targets {
			from := 0
			if i > 0 {
				from = targets[i-1]
			}
			if got := sorted(slices.Clone(order[from:target])); !slices.Equal(got, names[from:target]) {
				t.Errorf("version %d: batch %d changed %v of %v", version, i+1, got, order)
			}
		}
	}
	t.Logf("%d kills in %d rollouts", killed, version)
}

// ends reports whether the rollout to the current module ends within a time.
func (b *env) ends(within time.Duration) bool {
	b.t.Helper()
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		t := b.transform()
		if err := b.client.Get(b.t.Context(), keyOf(t), t); err != nil {
			b.t.Fatal(err)
		}
		s, ref := t.Status.Rollout, t.Status.ResolvedCueRef
		if s != nil && ref != nil && t.Status.ObservedGeneration == t.Generation && s.ToDigest == ref.Digest &&
			s.Phase == v1alpha1.RolloutCompleted && s.Updated == s.Total {
			return true
		}
	}
	return false
}
