package instance

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/resourceversion"
)

// graphResource is the resource of ResourceGraphs.
var graphResource = v1alpha1.GroupVersion.WithResource("resourcegraphs")

// graphs has a view of each graph that the manager made. All kinds share it.
type graphs struct {
	informer cache.SharedIndexInformer
}

// bySource is the index of the graphs of cluster-scoped instances, whose namespace the
// instances choose.
const bySource = "source"

// clusterSource returns the cluster-scoped instance that a graph was rendered from.
func clusterSource(obj any) ([]string, error) {
	if v, ok := obj.(*graphView); ok && v.source.Namespace == "" {
		return []string{v.source.index()}, nil
	}
	return nil, nil
}

// index returns the value of the index for a cluster-scoped instance.
func (s sourceKey) index() string { return s.kind.String() + "/" + s.Name }

// elsewhere returns a graph of a cluster-scoped instance with another key than the given one,
// or nil.
func (g *graphs) elsewhere(source sourceKey, uid types.UID, key types.NamespacedName) *graphView {
	found, err := g.informer.GetIndexer().ByIndex(bySource, source.index())
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

// newGraphs returns views of the graphs of all namespaces. Changed is called with the source
// of each graph that was added, changed or deleted.
func newGraphs(client dynamic.Interface, changed func(sourceKey)) (*graphs, error) {
	informer := dynamicinformer.NewFilteredDynamicInformer(client, graphResource, metav1.NamespaceAll, 0, cache.Indexers{bySource: clusterSource},
		func(o *metav1.ListOptions) { o.LabelSelector = v1alpha1.LabelOperator }).Informer()
	if err := informer.SetTransform(viewOf); err != nil {
		return nil, err
	}
	notify := func(obj any) {
		if v, ok := obj.(*graphView); ok {
			changed(v.source)
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    notify,
		UpdateFunc: func(_, obj any) { notify(obj) },
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			notify(obj)
		},
	})
	return &graphs{informer: informer}, err
}

// run watches the graphs until ctx is done. Synced is called when all were listed.
func (g *graphs) run(ctx context.Context, synced func()) {
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), g.informer.HasSynced) {
			synced()
		}
	}()
	g.informer.RunWithContext(ctx)
}

// get returns the view of a graph, or nil. Written is the view of this process's last write
// of the graph, or nil; it is returned as long as the informer doesn't show it yet.
func (g *graphs) get(key types.NamespacedName, written *graphView) *graphView {
	obj, exists, err := g.informer.GetStore().GetByKey(key.String())
	if !exists || err != nil { // an error can't happen: the key has the form of all keys
		// A graph that the informer should know, and doesn't, was deleted.
		if written != nil && resourceversion.Older(g.informer.LastSyncResourceVersion(), written.ResourceVersion) {
			return written
		}
		return nil
	}
	v := obj.(*graphView)
	if written != nil && resourceversion.Older(v.ResourceVersion, written.ResourceVersion) {
		return written
	}
	return v
}
