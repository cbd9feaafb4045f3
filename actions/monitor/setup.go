package monitor

import (
	"cmp"
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/pequod-io/pequod/actions/verdict"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/reconciling"
)

// Prober reads targets.
type Prober interface {
	// Read reads all targets of a Monitor. An error means that the targets aren't known.
	Read(ctx context.Context, m *v1alpha1.Monitor, timeout time.Duration) (verdict.Reading, error)
	// Forget drops what is kept for a Monitor.
	Forget(name types.NamespacedName)
}

// Reactor does what a rule asks for.
type Reactor interface {
	// Do does one reaction, and returns what it has done.
	Do(ctx context.Context, m *v1alpha1.Monitor, do v1alpha1.MonitorReaction, on Occasion) (string, error)
	// Check returns why a reaction can't be done with the flags of the program, or nil.
	Check(m *v1alpha1.Monitor, do v1alpha1.MonitorReaction) error
}

// Occasion is why a reaction is done.
type Occasion struct {
	v1alpha1.MonitorFiring
	// Vars are the variables of the expressions of the rule.
	Vars map[string]any
}

// Recorder counts what happens to Monitors.
type Recorder interface {
	// Polled records a poll of a target: "success" or "failure".
	Polled(result string)
	// Read records a reading, which has polled all targets of a Monitor.
	Read(took time.Duration)
	// Reacted records the end of a reaction.
	Reacted(kind string, result v1alpha1.RunState, took time.Duration)
	// Emitted records an Event.
	Emitted(reason string)
	// Erred records an error by its category.
	Erred(category string)
	// Active records the number of Monitors.
	Active(count int)
}

// Options configure [Setup]. Prober, Reactor and Metrics are required.
type Options struct {
	Prober  Prober
	Reactor Reactor
	Metrics Recorder
	// Concurrent is the number of Monitors that are reconciled at once, by default 8. It
	// doesn't limit polls.
	Concurrent int
	// Now returns the time. nil is the system's clock.
	Now func() time.Time
}

// reconciler reconciles Monitors. A Monitor is reconciled by one goroutine at a time.
type reconciler struct {
	Options
	log    logr.Logger
	client client.Client
	reader client.Reader // reads graphs, without a cache
	events events.EventRecorder
	queue  workqueue.TypedRateLimitingInterface[reconcile.Request]

	// work is the context of polls and reactions, and running counts them.
	work    context.Context
	running sync.WaitGroup
	memory
}

// Controller is the controller of Monitors in a manager.
type Controller struct{ r *reconciler }

// Setup adds the controller to a manager.
func Setup(mgr manager.Manager, o Options) (*Controller, error) {
	o.Concurrent = cmp.Or(o.Concurrent, 8)
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &reconciler{
		Options: o, log: mgr.GetLogger().WithName("monitor"), client: mgr.GetClient(), reader: mgr.GetAPIReader(), events: mgr.GetEventRecorder(v1alpha1.ActionsProgram),
		memory: memory{of: map[types.NamespacedName]*known{}},
	}
	c, err := controller.New("monitor", mgr, reconciling.Options(r, o.Concurrent, 20*time.Millisecond, 20*time.Second))
	if err == nil {
		err = c.Watch(source.Kind(mgr.GetCache(), &v1alpha1.Monitor{}, &handler.TypedEnqueueRequestForObject[*v1alpha1.Monitor]{}))
	}
	if err == nil {
		err = c.Watch(source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			r.queue = queue
			return nil
		}))
	}
	if err != nil {
		return nil, err
	}
	work, stop := context.WithCancel(context.Background())
	r.work = work
	return &Controller{r}, mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		stop()
		r.running.Wait()
		return nil
	}))
}

// minPause is the shortest time between the last poll and one that [Controller.Wake] asks for: an object
// may change all the time. It is the shortest interval.
const minPause = time.Second

// Wake has a Monitor polled soon. It may be called before the controller has started.
func (c *Controller) Wake(name types.NamespacedName) {
	c.r.change(name, func(k *known) {
		if next := k.begunAt.Add(minPause); next.Before(k.due) {
			k.due = next
		}
		k.woken = true
	})
	c.r.wake(name)
}

// wake has a Monitor reconciled.
func (r *reconciler) wake(name types.NamespacedName) {
	if r.queue != nil {
		r.queue.Add(reconcile.Request{NamespacedName: name})
	}
}

// jitter returns an interval that is up to 10 % shorter or longer.
func jitter(interval time.Duration) time.Duration {
	return time.Duration(float64(interval) * (0.9 + 0.2*rand.Float64()))
}

// spread returns a random part of an interval, so that Monitors that are found at the start of
// the program aren't polled all at once.
func spread(interval time.Duration) time.Duration {
	return time.Duration(float64(min(interval, time.Minute)) * rand.Float64())
}
