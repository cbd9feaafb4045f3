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
			if d.inbox.graphChanged(newGraph(), false) {
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
			c.graphChanged(old, false)
			d := c.find(graphs.Key(old))
			d.inbox.graphDeleted()
			if s := d.step(time.Now()); !s.ended {
				t.Fatal("the driver of a deleted graph hasn't ended")
			}
			test.when(d, func() { c.forget(d) }, func() { c.graphChanged(newGraph(), false) })
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

// A list may have another spec with a generation that was seen before, if etcd was
// restored. Its execution is another goal.
func TestAnotherSpecOfAGeneration(t *testing.T) {
	i := inbox{wake: func() {}}
	i.graphChanged(newGraph(), false)
	before := goalOf(i.take().seen, 0)
	other := newGraph()
	other.Spec.ServiceAccountName = "other"
	i.graphChanged(other, true)
	if m := i.take(); m.latest == nil || goalOf(m.seen, 0) == before {
		t.Errorf("a list with another spec isn't noticed: %+v", m)
	}
	before = goalOf(i.take().seen, 0)
	i.graphChanged(other, true)
	if m := i.take(); m.latest != nil || goalOf(m.seen, 0) != before {
		t.Errorf("a list with the same spec counts as a change: %+v", m)
	}
}

// A request for a reconciliation is also a new goal for a graph that is being deleted:
// deletions that failed are tried again at once.
func TestRequestWhileDeleting(t *testing.T) {
	seen := seenGraph{uid: "1", generation: 1, finalizer: true, deleting: true}
	before := goalOf(seen, 0)
	if seen.generation = 2; goalOf(seen, 0) != before {
		t.Error("a change of the spec begins another deletion")
	}
	if seen.requested = "now"; goalOf(seen, 0) == before {
		t.Error("the request is ignored")
	}
}
