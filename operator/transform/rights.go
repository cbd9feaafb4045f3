package transform

import (
	"context"
	"sync/atomic"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/pequod-io/pequod/operator/roles"
)

// rights notices changes of the roles of the cluster and of their bindings, those of Transforms
// excepted. Each may give the manager a right, or take one away.
type rights struct {
	informers []toolscache.SharedIndexInformer
	// settle is the time after which all API servers know a change.
	settle time.Duration
	// wake returns the Transforms for which the manager lacks rights, or all.
	wake func(ctx context.Context, all bool) []reconcile.Request
	// try has instances tried again.
	try     func()
	changed chan struct{}
	// epoch counts the changes that all API servers know, from 1.
	epoch atomic.Int64
}

func newRights(client metadata.Interface, settle time.Duration, wake func(context.Context, bool) []reconcile.Request, try func()) (*rights, error) {
	r := &rights{settle: settle, wake: wake, try: try, changed: make(chan struct{}, 1)}
	r.epoch.Store(1)
	for _, resource := range []string{"clusterroles", "clusterrolebindings"} {
		informer, err := newNames(client, rbacv1.SchemeGroupVersion.WithResource(resource), func(o *metav1.ListOptions) {
			o.LabelSelector = roles.Foreign()
		})
		if err != nil {
			return nil, err
		}
		r.informers = append(r.informers, informer)
	}
	return r, nil
}

// start watches roles and bindings until ctx is done.
func (r *rights) start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	change := func() {
		select {
		case r.changed <- struct{}{}:
		default: // the receiver will see the newest state
		}
	}
	for _, informer := range r.informers {
		_, err := informer.AddEventHandler(toolscache.ResourceEventHandlerDetailedFuncs{
			AddFunc: func(_ any, initial bool) {
				if !initial {
					change()
				}
			},
			UpdateFunc: func(any, any) { change() },
			DeleteFunc: func(any) { change() },
		})
		if err != nil {
			return err
		}
		go informer.RunWithContext(ctx)
	}
	go r.run(ctx, queue)
	return nil
}

// rightsPause is the time between two looks at the rights that are missing, after a change.
const rightsPause = time.Second

// run has Transforms reconciled after changes until ctx is done. API servers learn of a change some
// time after it: until then, Transforms that lack rights are tried again and again, and at the
// end of that time all Transforms.
func (r *rights) run(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.changed:
		}
		for known := time.Now().Add(r.settle); ctx.Err() == nil; {
			all := !time.Now().Before(known)
			if all {
				r.epoch.Add(1)
			}
			for _, request := range r.wake(ctx, all) {
				queue.Add(request)
			}
			r.try()
			if all {
				break
			}
			select {
			case <-ctx.Done():
			case <-time.After(rightsPause):
			}
		}
	}
}
