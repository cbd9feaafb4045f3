package probe

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/pequod-io/pequod/actions/identity"
	"github.com/pequod-io/pequod/actions/verdict"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Watches watch the objects of Monitors, each as the Monitor's account. They are safe for
// concurrent use.
type Watches struct {
	accounts *identity.Accounts
	mapper   meta.RESTMapper
	changed  func(types.NamespacedName)

	mu sync.Mutex
	of map[types.NamespacedName]*watched
}

// watched is the object of one Monitor.
type watched struct {
	// subject is the Monitor, the account and the object that the watch was begun for.
	subject string
	stop    context.CancelFunc
	info    cache.SharedIndexInformer

	mu  sync.Mutex
	err error // of the last request for a list or a watch
}

// answered records the answer to a request for a list or a watch, and returns whether it is another one
// than before.
func (of *watched) answered(err error) (changed bool) {
	of.mu.Lock()
	defer of.mu.Unlock()
	changed = (err == nil) != (of.err == nil)
	of.err = err
	return changed
}

// NewWatches returns watches that call changed with the name of the Monitor whose object has
// changed.
func NewWatches(accounts *identity.Accounts, mapper meta.RESTMapper, changed func(types.NamespacedName)) *Watches {
	return &Watches{accounts: accounts, mapper: mapper, changed: changed, of: map[types.NamespacedName]*watched{}}
}

// Forget ends the watch of a Monitor, if there is one.
func (w *Watches) Forget(name types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if old := w.of[name]; old != nil {
		old.stop()
		delete(w.of, name)
	}
}

// read returns the object of a Monitor as a poll. The first call begins the watch, and waits for
// its first list until ctx is done.
func (w *Watches) read(ctx context.Context, m *v1alpha1.Monitor) verdict.Poll {
	probe := m.Spec.Probe.Object
	poll := verdict.Poll{Name: probe.Kind + "." + probe.Name}
	of, err := w.ensure(ctx, m)
	if err != nil {
		poll.Err = err
		return poll
	}
	cache.WaitForCacheSync(ctx.Done(), of.info.HasSynced)                            // otherwise the store is empty
	object, exists, _ := of.info.GetStore().GetByKey(m.Namespace + "/" + probe.Name) // never fails
	of.mu.Lock()
	failed := of.err
	of.mu.Unlock()
	switch {
	case failed != nil: // what the store has may be outdated
		poll.Err = fmt.Errorf("watching: %s", identity.Reason(failed))
	case exists:
		u := object.(*unstructured.Unstructured)
		poll.UID, poll.Data = string(u.GetUID()), map[string]any{"object": u.Object}
	case !of.info.HasSynced():
		poll.Err = fmt.Errorf("was not read yet")
	default:
		poll.Err = fmt.Errorf("not found")
	}
	return poll
}

// ensure returns the watch of a Monitor's object. It begins none after ctx is done: the Monitor may
// be forgotten already, and nothing would end the watch.
func (w *Watches) ensure(ctx context.Context, m *v1alpha1.Monitor) (*watched, error) {
	name := types.NamespacedName{Namespace: m.Namespace, Name: m.Name}
	probe := m.Spec.Probe.Object
	subject := fmt.Sprint(m.UID, " ", m.Spec.ServiceAccountName, " ", *probe)
	if of := w.known(name); of != nil && of.subject == subject {
		return of, nil
	}
	// This may ask the API server, and other Monitors must not wait for it.
	resource, err := w.resource(probe)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	old := w.of[name]
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case old != nil && old.subject == subject:
		return old, nil
	case old != nil:
		old.stop()
		delete(w.of, name)
	}
	of, err := w.begin(m, name, resource)
	if err != nil {
		return nil, err
	}
	of.subject = subject
	w.of[name] = of
	return of, nil
}

// known returns the watch of a Monitor, or nil.
func (w *Watches) known(name types.NamespacedName) *watched {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.of[name]
}

// resource returns the resource of the object of a probe.
func (w *Watches) resource(probe *v1alpha1.ObjectProbe) (schema.GroupVersionResource, error) {
	gv, err := schema.ParseGroupVersion(probe.APIVersion)
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	mapping, err := w.mapper.RESTMapping(gv.WithKind(probe.Kind).GroupKind(), gv.Version)
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return schema.GroupVersionResource{}, fmt.Errorf("kind %s has no namespaces", probe.Kind)
	}
	return mapping.Resource, nil
}

// begin begins a watch.
func (w *Watches) begin(m *v1alpha1.Monitor, name types.NamespacedName, resource schema.GroupVersionResource) (*watched, error) {
	probe := m.Spec.Probe.Object
	client, err := dynamic.NewForConfigAndClient(w.accounts.As(m.Namespace, m.Spec.ServiceAccountName))
	if err != nil {
		return nil, err
	}
	objects := client.Resource(resource).Namespace(m.Namespace)
	ctx, stop := context.WithCancel(context.Background())
	of := &watched{stop: stop}
	only := fields.OneTermEqualSelector("metadata.name", probe.Name).String()
	// The informer tells of failures, but not that a watch goes on with an object that hasn't changed.
	answered := func(err error) {
		if of.answered(err) {
			w.changed(name)
		}
	}
	info := cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = only
			list, err := objects.List(ctx, o)
			answered(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = only
			events, err := objects.Watch(ctx, o)
			answered(err)
			return events, err
		},
	}, client), &unstructured.Unstructured{}, 0, cache.Indexers{})
	of.info = info
	notify := func(any) { w.changed(name) }
	// The default handler logs what the Monitor's status says.
	if err := info.SetWatchErrorHandler(func(*cache.Reflector, error) {}); err != nil {
		stop()
		return nil, err
	}
	if err := info.SetTransform(cache.TransformFunc(func(o any) (any, error) {
		if u, ok := o.(*unstructured.Unstructured); ok {
			u.SetManagedFields(nil)
		}
		return o, nil
	})); err != nil {
		stop()
		return nil, err
	}
	if _, err := info.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: notify, UpdateFunc: func(_, o any) { notify(o) }, DeleteFunc: notify,
	}); err != nil {
		stop()
		return nil, err
	}
	go info.Run(ctx.Done())
	go func() {
		// The first list may be empty, without an event.
		if cache.WaitForCacheSync(ctx.Done(), info.HasSynced) {
			w.changed(name)
		}
	}()
	return of, nil
}
