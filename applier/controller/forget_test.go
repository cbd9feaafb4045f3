package controller

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/controller/share"
)

// A graph may be made anew at the very moment at which the one of its name is
// forgotten. It was lost then until it changed the next time, or was stepped by a
// driver that was over: what failed was never tried again. No test from outside
// meets that moment reliably.
func TestForget(t *testing.T) {
	for _, test := range []struct {
		name string
		when func(d *driver, forget, anew func())
	}{
		{"made anew before", func(d *driver, forget, anew func()) {
			anew()
			forget()
		}},
		{"made anew after", func(d *driver, forget, anew func()) {
			forget()
			if d.changed(graphAnew()) {
				t.Error("a driver that is forgotten takes the graph for its own")
			}
			anew()
		}},
		{"news before", func(d *driver, forget, anew func()) {
			d.post(func() {})
			forget()
			d.step(time.Now()) // as the news has it
			forget()
			anew()
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
			defer queue.ShutDown()
			c := &controller{Options: Options{Metrics: nobody{}}, share: share.New(share.Options{Requests: 1}), drivers: map[types.NamespacedName]*driver{}, queue: queue}
			old := graphAnew()
			old.UID = "old"
			c.changed(old)
			d := c.find(keyOf(old))
			d.vanished()
			d.step(time.Now())
			if !d.over {
				t.Fatal("a driver of a graph that is gone isn't over")
			}
			test.when(d, func() { c.forget(d) }, func() { c.changed(graphAnew()) })
			now := c.find(keyOf(old))
			if now == nil {
				t.Fatal("the graph has no driver")
			}
			if now.over || now.head.uid != "new" || now.latest == nil {
				t.Errorf("the driver is over: %t; it knows of graph %q", now.over, now.head.uid)
			}
		})
	}
}

func graphAnew() *v1alpha1.ResourceGraph {
	rg := &v1alpha1.ResourceGraph{}
	rg.Namespace, rg.Name, rg.UID, rg.ResourceVersion = "default", "web", "new", "2"
	return rg
}
