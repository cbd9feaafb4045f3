package controller_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/harness"
)

// jumpingClock is a wall clock that a test sets.
type jumpingClock struct{ skew atomic.Int64 }

func (c *jumpingClock) now() time.Time              { return time.Now().Add(time.Duration(c.skew.Load())) }
func (c *jumpingClock) jump(distance time.Duration) { c.skew.Add(int64(distance)) }

// A wall clock that jumps forwards doesn't end a grace period, and one that jumps
// backwards doesn't prolong it, also if the applier is restarted afterwards.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	without := nodes(configMap("a", "a", "1"))
	with := nodes(configMap("a", "a", "1"), configMap("b", "b", "1"))
	begin := func(t *testing.T, grace time.Duration) (*env, *jumpingClock) {
		b, clock := idle(t, harness.Start(t)), &jumpingClock{}
		b.options.PruneGrace, b.options.Wall = grace, clock.now
		b.start(b.Config)
		b.apply(b.rendered("web", with))
		b.ready("web")
		b.apply(b.rendered("web", without))
		var since time.Time
		b.until("web", leaves("b", &since))
		return b, clock
	}
	pruned := func(b *env) {
		b.eventually("b is pruned", func(ctx ctx) bool { return !b.exists(ctx, "v1", "ConfigMap", "b") })
		b.ready("web")
	}
	t.Run("forwards", func(t *testing.T) {
		t.Parallel()
		b, clock := begin(t, time.Hour)
		clock.jump(5 * time.Hour)
		b.merge("web", `{"metadata":{"annotations":{"pequod.io/reconcile-requested-at":"now"}}}`)
		var since time.Time
		b.until("web", func(rg *v1alpha1.ResourceGraph) error {
			if rg.Status.ReconcileRequestedAt != "now" {
				return errNotYet
			}
			return leaves("b", &since)(rg)
		})
		b.wantExists(true, "v1", "ConfigMap", "b")
	})
	// At least a minute is left after a start: etcd may have been restored.
	t.Run("forwards and restarted", func(t *testing.T) {
		t.Parallel()
		b, clock := begin(t, time.Hour)
		b.stop()
		clock.jump(5 * time.Hour)
		b.start(b.Config)
		b.merge("web", `{"metadata":{"annotations":{"pequod.io/reconcile-requested-at":"now"}}}`)
		var since time.Time
		b.until("web", func(rg *v1alpha1.ResourceGraph) error {
			if rg.Status.ReconcileRequestedAt != "now" {
				return errNotYet
			}
			return leaves("b", &since)(rg)
		})
		b.wantExists(true, "v1", "ConfigMap", "b")
	})
	t.Run("backwards", func(t *testing.T) {
		t.Parallel()
		b, clock := begin(t, 4*time.Second)
		clock.jump(-5 * time.Hour)
		pruned(b)
	})
	t.Run("backwards and restarted", func(t *testing.T) {
		t.Parallel()
		b, clock := begin(t, 8*time.Second)
		b.stop()
		b.wantExists(true, "v1", "ConfigMap", "b")
		clock.jump(-5 * time.Hour)
		b.start(b.Config)
		pruned(b)
	})
}
