package probe

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/actions/identity"
	"github.com/pequod-io/pequod/actions/verdict"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/controller/share"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// retryRefused is the longest time until a watch that was refused is tried again.
const retryRefused = 30 * time.Second

// Watches watch the objects of Monitors with the rights of their accounts. Many objects of one kind,
// namespace and account share a watch, as the external references of graphs do. They are safe for
// concurrent use.
type Watches struct {
	own     *cluster.Client // only to make those of the accounts
	share   *share.Share
	changed func(types.NamespacedName)

	mu sync.Mutex
	of map[types.NamespacedName]*watched
}

// NewWatches returns watches that call changed with the name of the Monitor whose object has
// changed. They are open while [Watches.Start] runs.
func NewWatches(accounts *identity.Accounts, log logr.Logger, changed func(types.NamespacedName)) (*Watches, error) {
	own, err := accounts.Own()
	if err != nil {
		return nil, err
	}
	shared := share.New(share.Options{AsAccounts: true, RetryRefused: retryRefused, Log: log})
	return &Watches{own: own, share: shared, changed: changed, of: map[types.NamespacedName]*watched{}}, nil
}

// Start watches until ctx is done. It implements manager.Runnable.
func (w *Watches) Start(ctx context.Context) error {
	w.share.Watch(ctx)
	return nil
}

// Forget ends the watch of a Monitor, if there is one.
func (w *Watches) Forget(name types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if old := w.of[name]; old != nil {
		w.share.Unsubscribe(old)
		delete(w.of, name)
	}
}

// read returns the object of a Monitor as a poll. The first call begins the watch.
func (w *Watches) read(ctx context.Context, m *v1alpha1.Monitor) verdict.Poll {
	probe := m.Spec.Probe.Object
	poll := verdict.Poll{Name: probe.Kind + "." + probe.Name}
	var object *unstructured.Unstructured
	of, err := w.ensure(ctx, m)
	if err == nil {
		object, err = of.current(ctx)
	}
	switch {
	case err != nil:
		poll.Err = fmt.Errorf("reading: %s", identity.Reason(err))
	case object == nil:
		poll.Err = fmt.Errorf("not found")
	default:
		poll.UID, poll.Data = string(object.GetUID()), map[string]any{"object": object.Object}
	}
	return poll
}

// ensure returns the watch of a Monitor's object. It begins none after ctx is done: the Monitor may
// be forgotten already, and nothing would end the watch.
func (w *Watches) ensure(ctx context.Context, m *v1alpha1.Monitor) (*watched, error) {
	probe := m.Spec.Probe.Object
	gv, err := schema.ParseGroupVersion(probe.APIVersion)
	if err != nil {
		return nil, err
	}
	// This may ask the API server, and other Monitors must not wait for it.
	kind, err := w.own.Kinds().Find(ctx, gv.WithKind(probe.Kind))
	switch {
	case err != nil:
		return nil, err
	case !kind.Namespaced:
		return nil, fmt.Errorf("kind %s has no namespaces", probe.Kind)
	}
	name := types.NamespacedName{Namespace: m.Namespace, Name: m.Name}
	subject := fmt.Sprint(m.UID, " ", m.Spec.ServiceAccountName, " ", *probe)
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	of := w.of[name]
	if of == nil || of.subject != subject {
		account := share.Account{Namespace: m.Namespace, Name: m.Spec.ServiceAccountName}
		client, err := w.own.As(account.User())
		if err != nil {
			return nil, err
		}
		if of != nil {
			w.share.Unsubscribe(of)
		}
		key := inventory.Key{Group: gv.Group, Kind: probe.Kind, Namespace: m.Namespace, Name: probe.Name}
		of = &watched{
			name: name, subject: subject, account: account, client: client, changed: w.changed,
			target: engine.Target{Key: key, Version: gv.Version}, outdated: true,
		}
		w.of[name] = of
	}
	if of.takeOutdated() {
		unwatched, missed := w.share.Subscribe(of, of.account, of.client, []engine.Target{of.target})
		of.subscribed(len(unwatched) > 0, len(missed) > 0)
	}
	return of, nil
}
