package controller_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/harness"
)

// stoppedClock is a clock that only the test advances.
type stoppedClock struct {
	began   time.Time
	elapsed atomic.Int64
}

func (c *stoppedClock) Now() time.Time                  { return c.began.Add(time.Duration(c.elapsed.Load())) }
func (c *stoppedClock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }
func (c *stoppedClock) advance(d time.Duration)         { c.elapsed.Add(int64(d)) }

// A busy cluster completes a run at every moment that only checks a graph again. The
// progress of a new graph that takes long is written nevertheless.
func TestProgressBesideUnchangedGraphs(t *testing.T) {
	t.Parallel()
	b, clock := idle(t, harness.Start(t)), &stoppedClock{began: time.Now()}
	b.options.Clock = clock
	b.start(b.Config)
	b.apply(b.rendered("old", nodes(configMap("a", "a", "1"))))
	b.ready("old")
	clock.advance(time.Minute)

	b.apply(b.rendered("slow", `nodes: [{id: b, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}},
		readyWhen: [{type: Expression, expr: "has(object.data)"}]}]`))
	b.eventually("b is created", func(ctx ctx) bool { return b.exists(ctx, "v1", "ConfigMap", "b") })
	// The run of the old graph ends before the first status of the slow one is due, and
	// less than two seconds before that.
	clock.advance(time.Second)
	b.merge("old", `{"metadata":{"annotations":{"pequod.io/reconcile-requested-at":"now"}}}`)
	b.until("old", func(rg *v1alpha1.ResourceGraph) error {
		if rg.Status.ReconcileRequestedAt != "now" {
			return errNotYet
		}
		return isReady(rg)
	})
	clock.advance(1500 * time.Millisecond)
	b.until("slow", func(rg *v1alpha1.ResourceGraph) error {
		if in := rg.Status.Inventory; in == nil || len(in.Entries) != 1 {
			return fmt.Errorf("the inventory is %+v", in)
		}
		return nil
	})
}
