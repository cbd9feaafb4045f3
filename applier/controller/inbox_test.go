package controller

import (
	"testing"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/controller/graphs"
)

// A graph may be created at the very moment at which the driver of a deleted one
// of the same name is forgotten. It was lost then until its next change, or
// stepped by a driver that had ended, so that failures were never retried. No
// test with a cluster meets that moment reliably.
func TestForget(t *testing.T) {
	for _, test := range []struct {
		name string
		when func(d *driver, forget, create func())
	}{
		{"created before", func(d *driver, forget, create func()) {
			create()
			forget()
		}},
		{"created after", func(d *driver, forget, create func()) {
			forget()
			if d.inbox.graphChanged(newGraph()) {
				t.Error("a forgotten driver takes the graph")
			}
			create()
		}},
		{"news before", func(d *driver, forget, create func()) {
			d.post(func() {})
			forget()
			d.step(time.Now()) // as the news makes it
			forget()
			create()
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := offline(t)
			old := newGraph()
			old.UID = "old"
			c.graphChanged(old)
			d := c.find(graphs.Key(old))
			d.inbox.graphDeleted()
			if s := d.step(time.Now()); !s.ended {
				t.Fatal("the driver of a deleted graph hasn't ended")
			}
			test.when(d, func() { c.forget(d) }, func() { c.graphChanged(newGraph()) })
			now := c.find(graphs.Key(old))
			if now == nil {
				t.Fatal("the graph has no driver")
			}
			if m := now.inbox.take(); m.deleted || m.seen.uid != "new" || m.latest == nil {
				t.Errorf("the driver knows of graph %q, deleted: %t", m.seen.uid, m.deleted)
			}
		})
	}
}

func newGraph() *v1alpha1.ResourceGraph {
	rg := &v1alpha1.ResourceGraph{}
	rg.Namespace, rg.Name, rg.UID, rg.ResourceVersion = "default", "web", "new", "2"
	return rg
}
