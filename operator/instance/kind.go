package instance

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/rollout/board"
)

// kind is the controller of one generated kind.
type kind struct {
	*services
	group    schema.GroupKind
	resource schema.GroupVersionResource
	informer cache.SharedIndexInformer
	// entry is the platform of the kind, which changes with its module.
	entry   atomic.Pointer[catalog.Entry]
	queue   atomic.Pointer[queue]
	counter counter
	// assignment is the last one of the executor of rollouts, or nil.
	assignment atomic.Pointer[board.Assignment]
	// listed is set when memories has all instances.
	listed atomic.Bool

	mu       sync.Mutex // guards what follows
	memories map[types.NamespacedName]*memory
	tally    tally // of memories
	// forbidden are the instances whose last requests were forbidden.
	forbidden map[types.NamespacedName]bool
}

type queue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	crowd
}

// newKind returns the controller of the kind of an entry.
func newKind(s *services, e *catalog.Entry) *kind {
	k := &kind{
		services: s, group: e.Kind(), memories: map[types.NamespacedName]*memory{}, forbidden: map[types.NamespacedName]bool{}, counter: make(counter, 1), tally: newTally(),
		resource: schema.GroupVersionResource{Group: e.Names.Group, Version: e.Names.Version, Resource: e.Names.Plural},
	}
	k.entry.Store(e)
	k.informer = cache.NewSharedIndexInformerWithOptions(k.listWatch(), &unstructured.Unstructured{}, cache.SharedIndexInformerOptions{ObjectDescription: k.resource.String()})
	return k
}

// run reconciles the instances of the kind until ctx is done and all reconciliations have
// ended. After that there is no informer any more.
func (k *kind) run(ctx context.Context) error {
	var watching sync.WaitGroup
	defer watching.Wait()
	built, err := controller.NewUnmanaged("instance-"+k.resource.GroupResource().String(), controller.Options{
		Reconciler: k, MaxConcurrentReconciles: k.Concurrent, SkipNameValidation: new(true), Logger: k.log,
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minBackoff, maxBackoff),
	})
	if err != nil {
		return err
	}
	begin := source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		k.queue.Store(&queue{TypedRateLimitingInterface: q})
		if err := k.informer.SetTransform(ctrlcache.TransformStripManagedFields()); err != nil {
			return err
		}
		handler, err := k.informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
			AddFunc:    func(obj any, initial bool) { k.enqueueObject(obj, initial) },
			UpdateFunc: func(_, obj any) { k.enqueueObject(obj, false) },
			DeleteFunc: func(obj any) { k.enqueueObject(obj, false) },
		})
		if err != nil {
			return err
		}
		watching.Go(func() { k.informer.RunWithContext(ctx) })
		watching.Go(func() { k.synced(ctx, handler.HasSynced) })
		return nil
	})
	if err := built.Watch(begin); err != nil {
		return err
	}
	return built.Start(ctx)
}

// minBackoff and maxBackoff bound the pause after a request that failed. The pause doubles
// with each failure.
const (
	minBackoff = 200 * time.Millisecond
	maxBackoff = 30 * time.Second
)

// enqueueObject queues an instance that an event is about, and has the instances counted. One that
// was deleted is counted until it is reconciled.
func (k *kind) enqueueObject(obj any, initial bool) {
	key, err := cache.DeletionHandlingObjectToName(obj)
	if err != nil {
		return // can't happen: every object has a name
	}
	if in := k.get(types.NamespacedName(key)); in != nil {
		k.remember(types.NamespacedName(key), in)
	}
	k.counter.recount()
	k.enqueue(types.NamespacedName(key), initial)
}

// enqueue queues instances. If late is set, they wait until all others were handled: a
// developer who changes an instance doesn't wait for all instances of a new module. Those of a namespace with
// many that wait come after those of others.
func (k *kind) enqueue(key types.NamespacedName, late bool) {
	q := k.queue.Load()
	if q == nil {
		return // the informer isn't running yet, and will show the instance
	}
	request := reconcile.Request{NamespacedName: key}
	p, ok := q.TypedRateLimitingInterface.(priorityqueue.PriorityQueue[reconcile.Request])
	if !ok {
		q.Add(request)
		return
	}
	priority := handler.LowPriority
	if !late {
		priority = q.join(key)
	}
	p.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, request)
}

// count publishes the numbers of instances. The status of a paused Transform is not written, so its
// numbers stay.
func (k *kind) count() {
	k.mu.Lock()
	counts := v1alpha1.InstanceCounts{
		Total: len(k.memories), Ready: k.tally.phases[phaseReady], Failed: k.tally.phases[phaseFailed], Pinned: k.tally.pinned,
	}
	k.mu.Unlock()
	if e := k.entry.Load(); !e.Paused {
		k.Catalog.Count(e.Transform, counts)
	}
}

// update makes e the platform of the kind. All instances are rendered again.
func (k *kind) update(e *catalog.Entry) {
	k.entry.Store(e)
	k.counter.recount()
	for _, key := range k.informer.GetStore().ListKeys() {
		if name, err := cache.ParseObjectName(key); err == nil {
			k.enqueue(types.NamespacedName(name), true)
		}
	}
}

// get returns an instance as the informer shows it, or nil. It must not be changed.
func (k *kind) get(key types.NamespacedName) *unstructured.Unstructured {
	name := cache.ObjectName(key)
	obj, exists, err := k.informer.GetStore().GetByKey(name.String())
	if !exists || err != nil { // an error can't happen: the key has the form of all keys
		return nil
	}
	return obj.(*unstructured.Unstructured)
}

// remember returns the memory of an instance that the informer shows. Another instance of the same
// name has no part in it.
func (k *kind) remember(key types.NamespacedName, instance *unstructured.Unstructured) *memory {
	k.mu.Lock()
	defer k.mu.Unlock()
	m := k.memories[key]
	if m != nil {
		k.tally.add(m, -1)
	}
	if m == nil || m.instance.GetUID() != instance.GetUID() {
		m = &memory{}
		k.memories[key] = m
	}
	m.instance = instance
	k.tally.add(m, 1)
	return m
}

// forget drops the memory of an instance that doesn't exist any more.
func (k *kind) forget(key types.NamespacedName) {
	k.mu.Lock()
	if m := k.memories[key]; m != nil {
		k.tally.add(m, -1)
	}
	delete(k.memories, key)
	delete(k.forbidden, key)
	k.mu.Unlock()
	k.counter.recount()
	k.Board.Changed(k.group)
}

// noteForbidden records whether the requests for an instance were forbidden. If they aren't any more, all
// instances that were forbidden are tried again: the manager has probably got a right.
func (k *kind) noteForbidden(key types.NamespacedName, forbidden bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if forbidden {
		k.forbidden[key] = true
	} else if k.forbidden[key] {
		for other := range k.forbidden {
			k.enqueue(other, false)
		}
		clear(k.forbidden)
	}
}

// tryForbidden tries one of the instances again that were forbidden.
func (k *kind) tryForbidden() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key := range k.forbidden {
		k.enqueue(key, false)
		return
	}
}
