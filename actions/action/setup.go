package action

import (
	"cmp"
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/reconciling"
)

// Executors returns the executor of a request, or nil if it has none.
type Executors func(v1alpha1.ActionExecutor) executor.Executor

// Outputs stores sensitive outputs as a service account.
type Outputs interface {
	Apply(ctx context.Context, account string, secret *corev1.Secret) error
}

// Recorder counts what happens to Actions.
type Recorder interface {
	// Reconciled records a reconciliation: "success", or "error" if a request failed.
	Reconciled(result string, took time.Duration)
	// RunEnded records the end of a run.
	RunEnded(executor string, purpose v1alpha1.RunPurpose, result v1alpha1.RunState, took time.Duration)
}

// Options configure [Setup]. Executors and Outputs are required.
type Options struct {
	Executors Executors
	Outputs   Outputs
	// Metrics may be nil.
	Metrics Recorder
	// Concurrent is the number of Actions that are reconciled at once, by default 8. Those at
	// servers are not counted.
	Concurrent int
	// Now returns the time. nil is the system's clock.
	Now func() time.Time
}

// reconciler reconciles Actions. An Action is reconciled by one goroutine at a time.
type reconciler struct {
	Options
	client client.Client
	// live reads what the cache may not show yet.
	live   client.Reader
	events events.EventRecorder
	queue  workqueue.TypedRateLimitingInterface[reconcile.Request]
	places *places
	turns  turns

	memory
}

// Setup adds the controller to a manager.
func Setup(mgr manager.Manager, o Options) error {
	o.Concurrent = cmp.Or(o.Concurrent, 8)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Metrics == nil {
		o.Metrics = noMetrics{}
	}
	r := &reconciler{
		Options: o, client: mgr.GetClient(), live: mgr.GetAPIReader(),
		events: mgr.GetEventRecorder(v1alpha1.ActionsProgram), memory: newMemory(), turns: make(turns, o.Concurrent),
	}
	r.places = newPlaces(func(name types.NamespacedName) { r.queue.Add(reconcile.Request{NamespacedName: name}) })
	c, err := controller.New("action", mgr, reconciling.Options(r, o.Concurrent+atServers, 20*time.Millisecond, 20*time.Second))
	if err != nil {
		return err
	}
	err = c.Watch(source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		r.queue = queue
		return nil
	}))
	if err != nil {
		return err
	}
	return c.Watch(source.Kind(mgr.GetCache(), &v1alpha1.Action{}, &handler.TypedEnqueueRequestForObject[*v1alpha1.Action]{}))
}

// noMetrics is a Recorder that counts nothing.
type noMetrics struct{}

func (noMetrics) Reconciled(string, time.Duration)                                       {}
func (noMetrics) RunEnded(string, v1alpha1.RunPurpose, v1alpha1.RunState, time.Duration) {}
