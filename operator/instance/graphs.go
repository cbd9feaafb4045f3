package instance

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	graphsclient "github.com/pequod-io/pequod/applier/controller/graphs"
	"github.com/pequod-io/pequod/internal/resourceversion"
)

// graphResource is the resource of ResourceGraphs.
var graphResource = v1alpha1.GroupVersion.WithResource("resourcegraphs")

// Graphs has a view of each graph that the manager made. All kinds share it. It implements
// [cache.ReflectorStore]: a reflector of [v1alpha1.ResourceGraph] fills it, which may be that of
// the controller that executes the graphs. Graphs that it is given are neither kept nor changed.
type Graphs struct {
	views cache.Indexer
	// changed is called with the source of each graph that was added, changed or deleted.
	changed func(sourceKey)
	// listed is closed when all graphs are known.
	listed     chan struct{}
	listedOnce sync.Once

	mu sync.Mutex
	// version is the resource version of the last list, event or bookmark that views includes.
	version string
}

// NewGraphs returns Graphs that are empty, for [Options].
func NewGraphs() *Graphs {
	return &Graphs{
		views:   cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{bySource: clusterSource}),
		changed: func(sourceKey) {}, listed: make(chan struct{}),
	}
}

// bySource is the index of the graphs of cluster-scoped instances, whose namespace the
// instances choose.
const bySource = "source"

// clusterSource returns the cluster-scoped instance that a graph was rendered from.
func clusterSource(obj any) ([]string, error) {
	if v := obj.(*graphView); v.source.Namespace == "" {
		return []string{v.source.index()}, nil
	}
	return nil, nil
}

// index returns the value of the index for a cluster-scoped instance.
func (s sourceKey) index() string { return s.kind.String() + "/" + s.Name }

// inOtherNamespace returns a graph of a cluster-scoped instance with another key than the given one,
// or nil.
func (g *Graphs) inOtherNamespace(source sourceKey, uid types.UID, key types.NamespacedName) *graphView {
	found, err := g.views.ByIndex(bySource, source.index())
	if err != nil {
		return nil // can't happen: the index exists
	}
	for _, obj := range found {
		v := obj.(*graphView)
		owner := metav1.GetControllerOfNoCopy(&v.ObjectMeta)
		if owner != nil && owner.UID == uid && (v.Namespace != key.Namespace || v.Name != key.Name) {
			return v
		}
	}
	return nil
}

// watchGraphs returns a function that lists and watches the graphs of all namespaces until its
// context is done.
func watchGraphs(config *rest.Config, store cache.ReflectorStore) (func(context.Context), error) {
	own, err := cluster.New(config)
	if err != nil {
		return nil, err
	}
	client, err := graphsclient.New(config, own)
	if err != nil {
		return nil, err
	}
	source := client.ListWatch(metav1.NamespaceAll, graphsclient.Rendered(), "", func(bool) {})
	r := cache.NewReflectorWithOptions(source, &v1alpha1.ResourceGraph{}, store, cache.ReflectorOptions{Name: graphResource.Resource})
	return r.RunWithContext, nil
}

// get returns the view of a graph, or nil. Written is the view of this process's last write
// of the graph, or nil; it is returned as long as the watch hasn't shown it yet.
func (g *Graphs) get(key types.NamespacedName, written *graphView) *graphView {
	version := g.seen() // before the view, which may be newer then but not older
	v := g.view(key.String())
	switch {
	case v == nil && (written == nil || !resourceversion.Older(version, written.ResourceVersion)):
		return nil // if it was written, it was deleted
	case v == nil, written != nil && resourceversion.Older(v.ResourceVersion, written.ResourceVersion):
		return written
	}
	return v
}

// view returns the view with a key of the indexer, or nil.
func (g *Graphs) view(key string) *graphView {
	obj, exists, err := g.views.GetByKey(key)
	if !exists || err != nil { // an error can't happen: the key has the form of all keys
		return nil
	}
	return obj.(*graphView)
}

// seen returns the version up to which the views are complete.
func (g *Graphs) seen() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.version
}

// Bookmark implements [cache.ReflectorBookmarkStore].
func (g *Graphs) Bookmark(version string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.version = version
	return nil
}

// Add implements [cache.ReflectorStore].
func (g *Graphs) Add(obj any) error { return g.Update(obj) }

// Update implements [cache.ReflectorStore].
func (g *Graphs) Update(obj any) error {
	rg := obj.(*v1alpha1.ResourceGraph)
	v, err := viewOf(rg, g.view(cache.MetaObjectToName(rg).String()))
	if err != nil {
		return err
	}
	return g.event(v, g.views.Update)
}

// Delete implements [cache.ReflectorStore]. The graph was deleted, or has lost its label.
func (g *Graphs) Delete(obj any) error {
	rg := obj.(*v1alpha1.ResourceGraph)
	v := &graphView{ObjectMeta: metav1.ObjectMeta{Namespace: rg.Namespace, Name: rg.Name, ResourceVersion: rg.ResourceVersion}, source: sourceOf(rg)}
	return g.event(v, g.views.Delete)
}

// event makes a change of the views, and reports it.
func (g *Graphs) event(v *graphView, change func(any) error) error {
	if err := change(v); err != nil {
		return err
	}
	if err := g.Bookmark(v.ResourceVersion); err != nil {
		return err
	}
	g.changed(v.source)
	return nil
}

// Replace implements [cache.ReflectorStore]. Graphs that aren't in the list were deleted while no
// watch was open.
func (g *Graphs) Replace(list []any, version string) error {
	before := map[string]*graphView{}
	for _, obj := range g.views.List() {
		v := obj.(*graphView)
		before[cache.MetaObjectToName(v).String()] = v
	}
	var changed []sourceKey
	views := make([]any, 0, len(list))
	for _, obj := range list {
		v, err := viewOf(obj.(*v1alpha1.ResourceGraph), nil)
		if err != nil {
			return err
		}
		key := cache.MetaObjectToName(v).String()
		if old := before[key]; old == nil || old.UID != v.UID || old.ResourceVersion != v.ResourceVersion {
			changed = append(changed, v.source)
		}
		delete(before, key)
		views = append(views, v)
	}
	for _, gone := range before {
		changed = append(changed, gone.source)
	}
	if err := g.views.Replace(views, version); err != nil {
		return err
	}
	if err := g.Bookmark(version); err != nil {
		return err
	}
	g.listedOnce.Do(func() { close(g.listed) })
	for _, source := range changed {
		g.changed(source)
	}
	return nil
}

// Resync implements [cache.ReflectorStore].
func (g *Graphs) Resync() error { return nil }
