package graphs

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Rendered returns the selector of the graphs that pequod-manager made, whoever executes them.
func Rendered() labels.Selector {
	made, err := labels.NewRequirement(v1alpha1.LabelOperator, selection.Exists, nil)
	if err != nil {
		panic(err) // all parts are constants
	}
	return labels.NewSelector().Add(*made)
}

// ListWatch returns the source of a reflector of the graphs of a namespace, or
// of all namespaces if it is empty, whose labels match the selector. Shards is a selector of shards,
// "" for all. The API server reports a graph that stops matching as deleted.
//
// A reflector whose watch was lost because the API server is away opens it again at
// the version that it knows, without a list. If etcd was restored meanwhile, the
// API server accepts this version, which doesn't exist yet, and is silent until it
// does. So the source reports the version as expired, which makes the reflector
// list, unless the watch can be opened again at once.
//
// Watched is called with false when a watch has ended, and with true when the next
// one continues where it ended. It isn't called for a list.
func (c *Client) ListWatch(namespace string, selector labels.Selector, shards string, watched func(bool)) cache.ListerWatcher {
	matching := func(o *metav1.ListOptions) {
		o.LabelSelector, o.ShardSelector = selector.String(), shards
	}
	return &listWatch{ListWatch: cache.NewFilteredListWatchFromClient(c.typed, resource, namespace, matching), watched: watched}
}

// reopenTimeout is how soon after its end a watch has to be open again to continue
// where it ended.
const reopenTimeout = 5 * time.Second

type listWatch struct {
	*cache.ListWatch
	watched func(bool)

	mu    sync.Mutex
	ended time.Time // when the last watch ended, zero after a list
}

// ListWithContext implements [cache.ListerWithContext].
func (l *listWatch) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	l.setEnded(time.Time{})
	if options.ResourceVersion == "0" {
		// A cache may be older than what another replica did.
		options.ResourceVersion = ""
	}
	return l.ListWatch.ListWithContext(ctx, options)
}

// WatchWithContext implements [cache.WatcherWithContext].
func (l *listWatch) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	lists := options.SendInitialEvents != nil
	if lists {
		l.setEnded(time.Time{})
	}
	w, err := l.ListWatch.WatchWithContext(ctx, options)
	switch {
	case err != nil && !lists && (utilnet.IsConnectionRefused(err) || apierrors.IsTooManyRequests(err)):
		return nil, apierrors.NewResourceExpired("the watch was lost: " + err.Error())
	case err != nil:
		return nil, err
	case !lists && l.isLate():
		w.Stop()
		return nil, apierrors.NewResourceExpired("the watch was lost")
	}
	if !lists {
		l.watched(true)
	}
	return follow(w, func() {
		l.setEnded(time.Now())
		l.watched(false)
	}), nil
}

func (l *listWatch) setEnded(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = at
}

// isLate reports whether the last watch ended too long ago to be continued.
func (l *listWatch) isLate() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.ended.IsZero() && time.Since(l.ended) > reopenTimeout
}

// followed is a watch whose end is noticed before the receiver of its events can
// act on it.
type followed struct {
	watch.Interface
	events  chan watch.Event
	stopped chan struct{}
	end     func() // called once
}

// follow returns a watch that calls ended when w ends or is stopped.
func follow(w watch.Interface, ended func()) *followed {
	f := &followed{Interface: w, events: make(chan watch.Event), stopped: make(chan struct{})}
	f.end = sync.OnceFunc(func() {
		close(f.stopped)
		ended()
	})
	go func() {
		defer close(f.events)
		defer f.end()
		for event := range w.ResultChan() {
			select {
			case f.events <- event:
			case <-f.stopped:
				return
			}
		}
	}()
	return f
}

// ResultChan implements [watch.Interface].
func (f *followed) ResultChan() <-chan watch.Event { return f.events }

// Stop implements [watch.Interface].
func (f *followed) Stop() {
	f.Interface.Stop()
	f.end()
}
