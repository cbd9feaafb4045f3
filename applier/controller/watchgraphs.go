package controller

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/controller/graphs"
	"github.com/pequod-io/pequod/applier/controller/share"
)

// watchGraphs lists and watches the graphs until ctx is done. Every graph is
// handed over to its driver at once, and not kept here.
func (c *controller) watchGraphs(ctx context.Context) {
	r := cache.NewReflectorWithOptions(c.graphs.ListWatch(c.Namespace), &v1alpha1.ResourceGraph{}, graphStore{c}, cache.ReflectorOptions{
		Name: "resourcegraphs",
		// The default waits up to a minute after the API server was unavailable.
		Backoff: &wait.Backoff{Duration: share.MinPause, Cap: share.MaxPause, Factor: 2, Steps: 10, Jitter: 0.5},
	})
	r.RunWithContext(ctx)
}

// graphStore is the store of the reflector. It stores nothing and hands graphs
// over to their drivers.
type graphStore struct{ c *controller }

// Add implements [cache.ReflectorStore].
func (s graphStore) Add(obj any) error { return s.Update(obj) }

// Update implements [cache.ReflectorStore].
func (s graphStore) Update(obj any) error {
	s.c.graphChanged(obj.(*v1alpha1.ResourceGraph))
	return nil
}

// Delete implements [cache.ReflectorStore].
func (s graphStore) Delete(obj any) error {
	if d := s.c.find(graphs.Key(obj.(*v1alpha1.ResourceGraph))); d != nil {
		d.inbox.graphDeleted()
	}
	return nil
}

// Replace implements [cache.ReflectorStore]. Graphs that have a driver and aren't
// in the list were deleted while no watch was open.
func (s graphStore) Replace(list []any, _ string) error {
	exists := make(map[types.NamespacedName]bool, len(list))
	for i, obj := range list {
		rg := obj.(*v1alpha1.ResourceGraph)
		exists[graphs.Key(rg)] = true
		s.c.graphChanged(rg)
		list[i] = nil // so that graphs that aren't needed can be collected
	}
	s.c.mu.Lock()
	var deleted []*driver
	for key, d := range s.c.drivers {
		if !exists[key] {
			deleted = append(deleted, d)
		}
	}
	s.c.mu.Unlock()
	for _, d := range deleted {
		d.inbox.graphDeleted()
	}
	s.c.listed.Store(true)
	return nil
}

// Resync implements [cache.ReflectorStore].
func (s graphStore) Resync() error { return nil }

// graphChanged hands the newest state of a graph over to its driver. If the
// driver is forgotten at this moment, because an older graph of that name was
// deleted, another driver takes its place.
func (c *controller) graphChanged(rg *v1alpha1.ResourceGraph) {
	for !c.driver(graphs.Key(rg)).inbox.graphChanged(rg) {
	}
}
