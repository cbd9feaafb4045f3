package controller

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/controller/graphs"
	"github.com/pequod-io/pequod/applier/controller/share"
	"github.com/pequod-io/pequod/internal/resourceversion"
)

// watchGraphs lists and watches the graphs until ctx is done, with a selector of shards or "". Every
// graph is handed over to its driver at once, and not kept here. While the graphs aren't
// watched, no request of a graph starts.
func (c *controller) watchGraphs(ctx context.Context, store *graphStore, shards string) {
	namespace, selector := c.Namespace, c.selector()
	if c.shared() != nil {
		namespace, selector = metav1.NamespaceAll, graphs.Rendered()
	}
	c.reflect(ctx, c.graphs.ListWatch(namespace, selector, shards, func(watched bool) { c.share.Hold(!watched) }), store)
}

// executes reports whether the controller executes a graph that is watched. Without a store that
// shares the watch, it watches no others.
func (c *controller) executes(rg *v1alpha1.ResourceGraph) bool {
	return c.shared() == nil || (c.Namespace == "" || c.Namespace == rg.Namespace) && c.selector().Matches(labels.Set(rg.Labels))
}

// reflect lists and watches graphs until ctx is done.
func (c *controller) reflect(ctx context.Context, source cache.ListerWatcher, store cache.ReflectorStore) {
	r := cache.NewReflectorWithOptions(source, &v1alpha1.ResourceGraph{}, store, cache.ReflectorOptions{
		Name: "resourcegraphs",
		// The default waits up to a minute after the API server was unavailable.
		Backoff: &wait.Backoff{Duration: share.MinPause, Cap: share.MaxPause, Factor: 2, Steps: 10, Jitter: 0.5},
	})
	r.RunWithContext(ctx)
}

// graphStore is the store of the reflector. It stores nothing and hands graphs
// over to the shared store and to their drivers. Only one reflector at a time uses it.
type graphStore struct {
	c *controller
	// newest is the newest version of a list or event.
	newest string
}

// Add implements [cache.ReflectorStore].
func (s *graphStore) Add(obj any) error { return s.Update(obj) }

// Update implements [cache.ReflectorStore]. A graph that the controller doesn't execute, or not any
// more, is the same as a deleted one to its driver.
func (s *graphStore) Update(obj any) (err error) {
	if shared := s.c.shared(); shared != nil {
		err = shared.Update(obj)
	}
	rg := obj.(*v1alpha1.ResourceGraph)
	s.saw(graphEvent{rg, !s.c.executes(rg)})
	return err
}

// Delete implements [cache.ReflectorStore]. The graph was deleted, or its labels don't
// match the selector any more. Its driver ends without a further write; see clean.go for the
// exception.
func (s *graphStore) Delete(obj any) (err error) {
	if shared := s.c.shared(); shared != nil {
		err = shared.Delete(obj)
	}
	s.saw(graphEvent{obj.(*v1alpha1.ResourceGraph), true})
	return err
}

// Bookmark implements [cache.ReflectorBookmarkStore].
func (s *graphStore) Bookmark(version string) error {
	if shared := s.c.shared(); shared != nil {
		return shared.Bookmark(version)
	}
	return nil
}

// saw notes the version of an event, and reports the event.
func (s *graphStore) saw(e graphEvent) {
	if version := e.rg.ResourceVersion; s.newest == "" || resourceversion.Older(s.newest, version) {
		s.newest = version
	}
	s.c.division.mu.Lock()
	defer s.c.division.mu.Unlock()
	s.c.reported(e)
}

// reported hands an event over to the driver of its graph, if this replica executes it. The
// caller holds the lock of the division.
func (c *controller) reported(e graphEvent) {
	if !c.admit(e) {
		return
	}
	if !e.deleted {
		c.graphChanged(e.rg, false)
	} else if d := c.find(graphs.Key(e.rg)); d != nil {
		d.inbox.graphDeleted()
	}
}

// Replace implements [cache.ReflectorStore]. Graphs that have a driver and aren't
// in the list were deleted while no watch was open.
func (s *graphStore) Replace(list []any, version string) (err error) {
	if shared := s.c.shared(); shared != nil {
		err = shared.Replace(list, version)
	}
	s.c.division.mu.Lock()
	defer s.c.division.mu.Unlock()
	if s.rewritten(list, version) {
		s.c.historyRewritten(s.newest, version)
	}
	s.newest = version
	exists := make(map[types.NamespacedName]bool, len(list))
	for i, obj := range list {
		list[i] = nil // so that graphs that aren't needed can be collected
		rg := obj.(*v1alpha1.ResourceGraph)
		if !s.c.executes(rg) || !s.c.covers(rg.UID) {
			continue
		}
		exists[graphs.Key(rg)] = true
		s.c.graphChanged(rg, true)
	}
	for key, d := range s.c.all() {
		if !exists[key] && s.c.covers(d.inbox.uid()) {
			d.inbox.graphDeleted()
		}
	}
	s.c.listed.Store(true)
	s.c.gaining.Store(!s.c.division.complete())
	s.c.share.Hold(false)
	return err
}

// rewritten reports whether a list proves that the history of the cluster was
// rewritten: the list is older than what was seen before it, or has a graph that is.
// The latter is so if the versions of a restored etcd were increased.
func (s *graphStore) rewritten(list []any, version string) bool {
	if resourceversion.Older(version, s.newest) {
		return true
	}
	for _, obj := range list {
		rg := obj.(*v1alpha1.ResourceGraph)
		if d := s.c.find(graphs.Key(rg)); d != nil && d.inbox.hasSeenLater(rg.ResourceVersion) {
			return true
		}
	}
	return false
}

// Resync implements [cache.ReflectorStore].
func (s *graphStore) Resync() error { return nil }

// graphChanged hands the newest state of a graph over to its driver. If the
// driver is forgotten at this moment, because an older graph of that name was
// deleted, another driver takes its place. Listed is set if the state is from a list.
func (c *controller) graphChanged(rg *v1alpha1.ResourceGraph, listed bool) {
	for !c.driver(graphs.Key(rg)).inbox.graphChanged(rg, listed) {
	}
	if c.Shards != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.forgotten.Broadcast()
	}
}

// historyRewritten voids everything that is known about the cluster. Newest is the
// newest version that was seen in its former history, and listed that of the list of
// graphs that the caller hands over next.
func (c *controller) historyRewritten(newest, listed string) {
	c.log.Info("the history of the cluster was rewritten, as by restoring etcd: all graphs and objects are read again",
		"known", newest, "listed", listed)
	c.Metrics.HistoryRewritten()
	drivers := c.all()
	for _, d := range drivers {
		d.inbox.outdate()
	}
	c.share.Rewritten(listed)
	for _, d := range drivers {
		d.wake()
	}
}
