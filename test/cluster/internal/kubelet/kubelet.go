// Package kubelet simulates the nodes of a cluster. It registers them, renews
// their leases, and writes the status that a kubelet would report for the Pods
// that the scheduler binds to them. No container runs: there are no logs and no
// network. Only those of Pods with the annotation [RunFrom] run, as processes, and
// commands are executed only in Pods with the annotation [Exec].
//
// The status of a Pod depends on its spec, on the time since the Pod was first
// seen, and on annotations and image tags (see steer.go). By default a Pod is
// Running and Ready at once and stays so, and a Pod of a Job succeeds. Services
// of type LoadBalancer get an address.
//
// [Run] is the entry point.
package kubelet

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
)

// Options configure the nodes and the restarts of containers.
type Options struct {
	Nodes []string
	// Backoff is the delay before the first restart of a container. It doubles
	// with every restart, up to sixteen times the first. A real kubelet starts
	// with ten seconds.
	Backoff time.Duration
	// Server is where processes find the API server.
	Server Server
}

// NodeNames returns the names of count nodes.
func NodeNames(count int) []string {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("node-%d", i+1)
	}
	return names
}

// podWorkers is the number of Pods that are written concurrently.
const podWorkers = 8

// Run registers the nodes and updates their Pods and the Services of the cluster
// until ctx is done.
func Run(ctx context.Context, client kubernetes.Interface, opts Options) error {
	exec := &execServer{ctx: ctx}
	port := serveExec(exec)
	for _, name := range opts.Nodes {
		if err := register(ctx, client, name, port); err != nil {
			return fmt.Errorf("node %s: %w", name, err)
		}
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})

	pods := newPods(client, opts, broadcaster)
	services := newServices(client)
	bound := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTweakListOptions(onlyBound))
	rest := informers.NewSharedInformerFactory(client, 0)
	if err := watch(bound.Core().V1().Pods().Informer(), pods.queue, pods.forget); err != nil {
		return err
	}
	if err := watch(rest.Core().V1().Services().Informer(), services.queue, services.seen.forget); err != nil {
		return err
	}
	pods.lister = bound.Core().V1().Pods().Lister()
	exec.pods.Store(&pods.lister)
	services.lister = rest.Core().V1().Services().Lister()
	for _, factory := range []informers.SharedInformerFactory{bound, rest} {
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
	}
	if err := pods.adopt(time.Now()); err != nil {
		return err
	}

	var running sync.WaitGroup
	for _, name := range opts.Nodes {
		running.Go(func() { keepAlive(ctx, client, name) })
	}
	for range podWorkers {
		running.Go(func() { work(ctx, pods.queue, pods.sync) })
	}
	running.Go(func() { work(ctx, services.queue, services.sync) })
	<-ctx.Done()
	pods.queue.ShutDown()
	services.queue.ShutDown()
	running.Wait()
	pods.processes.close()
	return nil
}

// onlyBound restricts a list or watch to Pods that are bound to a node.
func onlyBound(opts *metav1.ListOptions) {
	opts.FieldSelector = fields.OneTermNotEqualSelector("spec.nodeName", "").String()
}

// watch adds the keys of changed objects to the queue, and calls forget for
// deleted ones.
func watch(informer cache.SharedIndexInformer, queue queue, forget func(types.UID)) error {
	add := func(obj any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
			queue.Add(key)
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    add,
		UpdateFunc: func(_, obj any) { add(obj) },
		DeleteFunc: func(obj any) {
			if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = unknown.Obj
			}
			if object, ok := obj.(metav1.Object); ok {
				forget(object.GetUID())
			}
		},
	})
	return err
}

// work processes keys until the queue shuts down. A key is retried after an
// error, and processed again at the time that sync returns.
func work(ctx context.Context, queue queue, sync func(context.Context, string) (time.Duration, error)) {
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		after, err := sync(ctx, key)
		switch {
		case ctx.Err() != nil:
		case apierrors.IsConflict(err):
			// Mostly a conflict: the informer will deliver the newer object in a
			// moment.
			queue.AddRateLimited(key)
		case err != nil:
			utilruntime.HandleErrorWithContext(ctx, err, "fake kubelet", "key", key)
			queue.AddRateLimited(key)
		default:
			queue.Forget(key)
			if after > 0 {
				queue.AddAfter(key, after)
			}
		}
		queue.Done(key)
	}
}
