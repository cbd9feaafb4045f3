package transform

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// instances counts the instances of kinds, by watches of their metadata. Only kinds whose
// number matters are watched: those with roles in each namespace, and those to be deleted.
type instances struct {
	cache cache.Cache
	mu    sync.Mutex // guards what follows
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	kinds map[schema.GroupVersionKind]*watched
}

// watched is a kind that is watched for a Transform.
type watched struct {
	transform types.NamespacedName
	// each has the Transform reconciled for each instance that comes or goes.
	each bool
	// namespaces counts the instances in each namespace that has some. They are all counted when synced
	// returns true.
	namespaces map[string]int
	synced     toolscache.InformerSynced
}

func newInstances(c cache.Cache) *instances {
	return &instances{cache: c, kinds: map[schema.GroupVersionKind]*watched{}}
}

// start takes the queue of the controller.
func (i *instances) start(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.queue = queue
	return nil
}

// namespaces returns how many instances of a kind each namespace has; the namespace is "" for
// cluster-scoped kinds. From then on, the Transform is reconciled when a namespace gets its first
// instance or loses its last one, and with each when any instance comes or goes.
func (i *instances) namespaces(ctx context.Context, kind schema.GroupVersionKind, transform types.NamespacedName, each bool) (map[string]int, error) {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(kind)
	informer, err := i.cache.GetInformer(ctx, object, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, err
	}
	w, err := i.handle(informer, kind, transform)
	if err != nil {
		return nil, err
	}
	if err := i.forgetBut(ctx, transform, kind); err != nil {
		return nil, err
	}
	if err := listed(ctx, w.synced, kind); err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	w.each = each
	return maps.Clone(w.namespaces), nil
}

// listPatience is how long a reconciliation waits until the instances of a kind are listed.
const listPatience = 2 * time.Second

// errNotListed is the error of [listed].
var errNotListed = errors.New("aren't listed yet")

// listed waits until the instances of a kind are listed. It returns an error if they
// are not listed in time: the CRD may be gone already while the watch of CRDs still shows it, and
// instances of a kind that isn't served are never listed. The informer goes on, so that a
// repetition finds what a slow API server has sent meanwhile.
func listed(ctx context.Context, synced toolscache.InformerSynced, kind schema.GroupVersionKind) error {
	ctx, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	if !toolscache.WaitForCacheSync(ctx.Done(), synced) {
		return fmt.Errorf("the instances of %s %w", kind.Kind, errNotListed)
	}
	return nil
}

// handle adds a handler to the informer of a kind, unless it has one.
func (i *instances) handle(informer cache.Informer, kind schema.GroupVersionKind, transform types.NamespacedName) (*watched, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if w := i.kinds[kind]; w != nil {
		w.transform = transform
		return w, nil
	}
	w := &watched{transform: transform, namespaces: map[string]int{}}
	add := func(obj any, n int) {
		key, err := toolscache.DeletionHandlingObjectToName(obj)
		if err != nil {
			return // can't happen: every object has a name
		}
		i.mu.Lock()
		left := w.namespaces[key.Namespace] + n
		if w.namespaces[key.Namespace] = left; left == 0 {
			delete(w.namespaces, key.Namespace)
		}
		transform, matters := w.transform, w.each || left == max(0, n)
		i.mu.Unlock()
		if matters {
			i.enqueue(transform)
		}
	}
	handler, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { add(obj, 1) }, DeleteFunc: func(obj any) { add(obj, -1) },
	})
	if err != nil {
		return nil, err
	}
	w.synced, i.kinds[kind] = handler.HasSynced, w
	return w, nil
}

// enqueue has a Transform reconciled. Before the controller starts, there is nothing to do: it
// begins with all Transforms.
func (i *instances) enqueue(transform types.NamespacedName) {
	i.mu.Lock()
	queue := i.queue
	i.mu.Unlock()
	if queue == nil {
		return
	}
	queue.Add(reconcile.Request{NamespacedName: transform})
}

// forget ends the watches for a Transform.
func (i *instances) forget(ctx context.Context, transform types.NamespacedName) error {
	return i.forgetBut(ctx, transform, schema.GroupVersionKind{})
}

// forgetBut ends the watches for a Transform, except that of one kind.
func (i *instances) forgetBut(ctx context.Context, transform types.NamespacedName, keep schema.GroupVersionKind) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, kind := range slices.Collect(maps.Keys(i.kinds)) {
		if i.kinds[kind].transform != transform || kind == keep {
			continue
		}
		delete(i.kinds, kind)
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(kind)
		if err := i.cache.RemoveInformer(ctx, object); err != nil {
			return err
		}
	}
	return nil
}
