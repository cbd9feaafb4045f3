package notify

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/pequod-io/pequod/actions/observe"
	"github.com/pequod-io/pequod/actions/outbox"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/fluxowner"
)

const (
	// seriesEvery is the time between two notices of one series of Events. It is that of Flux.
	seriesEvery = 5 * time.Minute
	maxSeries   = 10_000
)

// Options configure [Setup].
type Options struct {
	Outbox *outbox.Outbox
	Format Format
	// Kustomizations reads those that have applied an object, to report its revision. Nil reports none.
	Kustomizations dynamic.NamespaceableResourceInterface
}

// notifier puts notices into the outbox.
type notifier struct {
	Options
	client client.Client
	mapper meta.RESTMapper
	log    logr.Logger
	series *lru.Cache // time of the last notice by the UID of an Event
	// refused logs once that the program may not read Kustomizations.
	refused sync.Once
}

// Setup adds the controllers to a manager, whose cache must have what package observe selects.
func Setup(mgr manager.Manager, o Options) error {
	n := &notifier{Options: o, client: mgr.GetClient(), mapper: mgr.GetRESTMapper(), log: mgr.GetLogger().WithName("notify"), series: lru.New(maxSeries)}
	instances, err := observe.InstanceEvents(mgr)
	if err != nil {
		return err
	}
	for name, from := range map[string]cache.Cache{"notify-events": mgr.GetCache(), "notify-instances": instances} {
		if err := observe.Controller(mgr, from, name, &eventsv1.Event{}, n.event(from)); err != nil {
			return err
		}
	}
	return observe.Controller(mgr, mgr.GetCache(), "notify-graphs", &v1alpha1.ResourceGraph{}, n.graph)
}

// event returns a function that reports an Event in a cache.
func (n *notifier) event(from client.Reader) reconcile.Func {
	return func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		e := &eventsv1.Event{}
		if err := from.Get(ctx, req.NamespacedName, e); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		notice, ok := OfEvent(e)
		if !ok {
			return reconcile.Result{}, nil
		}
		if last, ok := n.series.Get(e.UID); ok {
			if rest := time.Until(last.(time.Time).Add(seriesEvery)); rest > 0 {
				return reconcile.Result{RequeueAfter: rest}, nil
			}
		}
		if err := n.put(ctx, notice); err != nil {
			return reconcile.Result{}, err
		}
		n.series.Add(e.UID, time.Now())
		return reconcile.Result{}, nil
	}
}

// graph reports revisions of a graph that were completed.
func (n *notifier) graph(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	rg := &v1alpha1.ResourceGraph{}
	if err := n.client.Get(ctx, req.NamespacedName, rg); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	for _, notice := range OfGraph(rg) {
		if err := n.put(ctx, notice); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{}, nil
}

// put puts a notice into the outbox.
func (n *notifier) put(ctx context.Context, notice Notice) error {
	// Nothing is read for what was sent before.
	if wanted, err := n.Outbox.Wants(ctx, notice.ID, notice.At); err != nil || !wanted {
		return err
	}
	if notice.Applied == nil {
		notice.Applied = n.applied(ctx, notice.Object)
	}
	var err error
	if notice.Resource, err = n.resource(notice.Object); err != nil {
		return err
	}
	if notice.Revision, err = n.revision(ctx, notice.Applied); err != nil {
		return err
	}
	header, body, err := n.Format.Encode(notice)
	if err != nil {
		return reconcile.TerminalError(err)
	}
	return n.Outbox.Put(ctx, outbox.Message{ID: notice.ID, At: notice.At, Header: header, Body: body})
}

// resource returns the name of a kind in paths of the API. It is unknown if the kind is gone.
func (n *notifier) resource(of corev1.ObjectReference) (string, error) {
	kind := of.GroupVersionKind()
	mapping, err := n.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return mapping.Resource.Resource, nil
}

// applied returns the object of Flux that applied an object, or the graph that it belongs to. It
// returns nil if none did, and if the object is gone.
func (n *notifier) applied(ctx context.Context, of corev1.ObjectReference) *corev1.ObjectReference {
	if of.APIVersion != v1alpha1.GroupVersion.String() {
		return nil // an instance, whose kind may have the name of one of these
	}
	var obj client.Object
	switch of.Kind {
	case "ResourceGraph":
		obj = &v1alpha1.ResourceGraph{}
	case "Action":
		obj = &v1alpha1.Action{}
	case "Monitor":
		obj = &v1alpha1.Monitor{}
	case "Receiver":
		obj = &v1alpha1.Receiver{}
	default:
		return nil
	}
	if err := n.client.Get(ctx, client.ObjectKey{Namespace: of.Namespace, Name: of.Name}, obj); err != nil {
		return nil // it is read from a cache, so it is gone
	}
	labels := obj.GetLabels()
	if by := appliedBy(obj); by != nil || labels[v1alpha1.LabelGraph] == "" {
		return by
	}
	graph := &v1alpha1.ResourceGraph{}
	if err := n.client.Get(ctx, client.ObjectKey{Namespace: labels[v1alpha1.LabelGraphNamespace], Name: labels[v1alpha1.LabelGraph]}, graph); err != nil {
		return nil // as above, or its name is too long for a label
	}
	return appliedBy(graph)
}

// appliedBy returns the object of Flux that applied an object, or the instance of a graph; nil if none did.
func appliedBy(obj client.Object) *corev1.ObjectReference {
	if by := fluxowner.Of(obj.GetLabels()); by != nil {
		return by
	}
	return fluxowner.Parse(obj.GetAnnotations()[v1alpha1.AnnotationAppliedBy])
}
