package instance

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// forbiddenPause is the time before a forbidden list or watch is tried again. The pause of a
// reflector grows to a minute, and rights usually appear as a whole.
const forbiddenPause = 2 * time.Second

// listWatch lists and watches the instances of the kind, and reports in the catalog whether
// that succeeds.
func (k *kind) listWatch() cache.ListerWatcher {
	all := k.dynamic.Resource(k.resource)
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (list runtime.Object, err error) {
			err = k.reading(ctx, func() error { list, err = all.List(ctx, options); return err })
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (events watch.Interface, err error) {
			err = k.reading(ctx, func() error { events, err = all.Watch(ctx, options); return err })
			return events, err
		},
	}, k.dynamic)
}

// reading makes a request, and reports its result. A request that is forbidden is repeated until
// it is allowed.
func (k *kind) reading(ctx context.Context, request func() error) error {
	for {
		err := request()
		switch {
		case ctx.Err() != nil:
			return err
		case apierrors.IsResourceExpired(err), err == nil && !k.informer.HasSynced():
			// The instances are listed again, or are being received.
		default:
			k.Catalog.Listed(k.entry.Load().Transform, err)
		}
		if !apierrors.IsForbidden(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(forbiddenPause):
		}
	}
}

// synced reports that the instances are listed, once they are, and counts them until ctx is done.
func (k *kind) synced(ctx context.Context, handled cache.InformerSynced) {
	if cache.WaitForCacheSync(ctx.Done(), handled) {
		k.listed.Store(true)
		k.Catalog.Listed(k.entry.Load().Transform, nil)
		k.Board.Changed(k.group)
		k.counter.run(ctx, k.count)
	}
}
