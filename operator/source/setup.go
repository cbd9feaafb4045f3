package source

import (
	"cmp"
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/reconciling"
	"github.com/pequod-io/pequod/operator/blob"
	"github.com/pequod-io/pequod/operator/catalog"
)

// ByObject returns the options of the manager's cache for the objects that this package reads.
func ByObject() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{&v1alpha1.InstanceSource{}: {Transform: cache.TransformStripManagedFields()}}
}

// Setup adds the controller to a manager, whose scheme must have InstanceSources and Transforms.
// Sources of Flux are watched without the manager's cache, because their kinds can be missing.
func Setup(mgr manager.Manager, o Options) error {
	if o.Catalog == nil || o.Evaluator == nil || o.Store == nil || o.URL == "" {
		return errors.New("operator/source: a catalog, an evaluator, a store and a URL are needed")
	}
	if o.Metrics == nil {
		o.Metrics = reconciling.NoMetrics{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Concurrent, o.Backoff, o.Patience = cmp.Or(o.Concurrent, 2), cmp.Or(o.Backoff, 5*time.Second), cmp.Or(o.Patience, time.Minute)
	config := rest.CopyConfig(mgr.GetConfig())
	config.QPS = -1 // the API server limits requests itself
	flux, err := dynamic.NewForConfigAndClient(config, mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	r := &reconciler{
		Options: o, client: mgr.GetClient(), dynamic: flux, events: mgr.GetEventRecorder(v1alpha1.ManagerProgram),
		memories: map[types.NamespacedName]*memory{},
	}
	r.flux = newSources(flux, r.ofSource)
	c, err := controller.New("instancesource", mgr, reconciling.Options(r, o.Concurrent, 200*time.Millisecond, time.Minute))
	if err != nil {
		return err
	}
	for _, w := range []source.Source{
		source.Kind(mgr.GetCache(), &v1alpha1.InstanceSource{}, &handler.TypedEnqueueRequestForObject[*v1alpha1.InstanceSource]{}),
		source.Kind(mgr.GetCache(), blob.Metadata(), handler.TypedFuncs[*metav1.PartialObjectMetadata, reconcile.Request]{DeleteFunc: r.deleted}),
		source.Func(r.flux.start), source.Func(r.watchCatalog), source.Func(r.begin),
	} {
		if err := c.Watch(w); err != nil {
			return err
		}
	}
	return nil
}

// watchCatalog queues the InstanceSources that have instances of a platform that has changed.
func (r *reconciler) watchCatalog(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	go r.Catalog.Watch(ctx, func(kind schema.GroupKind, _ *catalog.Entry) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for key, m := range r.memories {
			if _, uses := m.platforms[kind]; uses {
				queue.Add(reconcile.Request{NamespacedName: key})
			}
		}
	})
	return nil
}

// deleted queues the InstanceSources whose archives exceed a quota after something stored was deleted.
func (r *reconciler) deleted(_ context.Context, _ event.TypedDeleteEvent[*metav1.PartialObjectMetadata], queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, m := range r.memories {
		if m.wantsRoom {
			queue.Add(reconcile.Request{NamespacedName: key})
		}
	}
}

// begin records the time at which this replica became the leader. It queues all InstanceSources
// that have archives: those that were deleted while no manager ran lose their archives. It also
// queues a key without a name, which stands for archives without a reference.
func (r *reconciler) begin(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	r.started = r.Now()
	queue.Add(reconcile.Request{})
	// An error here would end the manager.
	go func() {
		_ = wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) { // it ends with ctx
			owners, err := r.Store.Owners(ctx)
			for _, key := range owners {
				queue.Add(reconcile.Request{NamespacedName: key})
			}
			return err == nil, nil
		})
	}()
	return nil
}

// ofSource returns the InstanceSources to reconcile after a change of a source of Flux: those that
// refer to it, and the one whose result it is.
func (r *reconciler) ofSource(ctx context.Context, kind v1alpha1.FluxSourceKind, key types.NamespacedName) []types.NamespacedName {
	var all v1alpha1.InstanceSourceList
	if err := r.client.List(ctx, &all); err != nil {
		return nil // the cache is not running any more
	}
	var keys []types.NamespacedName
	for i := range all.Items {
		s := &all.Items[i]
		own := client.ObjectKeyFromObject(s)
		refers := s.Spec.SourceRef.Kind == kind && (key == types.NamespacedName{} || sourceKey(s) == key)
		if refers || kind == v1alpha1.FluxExternalArtifact && own == key {
			keys = append(keys, own)
		}
	}
	return keys
}
