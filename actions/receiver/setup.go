package receiver

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlsource "sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/pequod-io/pequod/actions/effect"
	"github.com/pequod-io/pequod/actions/egress"
	"github.com/pequod-io/pequod/actions/source/webhook"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/reconciling"
)

// Accounts acts as service accounts.
type Accounts interface {
	effect.Accounts
	webhook.Secrets
}

// Recorder counts what happens to messages.
type Recorder interface {
	// Delivered records a message: "done", "skipped", "repeated" or the class of its error.
	Delivered(source, result string, took time.Duration)
	// Rejected records a request that didn't become a message.
	Rejected(why string)
}

// Options configure [Setup]. All but Address and Now are required.
type Options struct {
	Accounts Accounts
	Kinds    effect.Kinds
	// Egress sends requests to the servers of sources.
	Egress  *egress.Client
	Metrics Recorder
	// Address is where webhooks are served; "0" disables them.
	Address string
	// Concurrent is the number of Receivers that are reconciled at once.
	Concurrent int
	// Now returns the time. nil is the system's clock.
	Now func() time.Time
}

// reconciler reconciles Receivers, and delivers messages.
type reconciler struct {
	Options
	client  client.Client
	live    client.Reader // without a cache
	events  events.EventRecorder
	effects *effect.Effects
	quiet   *quiet

	consumers *consumers
}

// pathIndex is the name of the index of Receivers by their paths.
const pathIndex = "status.webhookPath"

// Setup adds the controller and the server of webhooks to a manager.
func Setup(mgr manager.Manager, o Options) error {
	o.Concurrent = cmp.Or(o.Concurrent, 8)
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &reconciler{
		Options: o, client: mgr.GetClient(), live: mgr.GetAPIReader(), events: mgr.GetEventRecorder(v1alpha1.ActionsProgram), quiet: newQuiet(), consumers: newConsumers(),
		effects: &effect.Effects{Accounts: o.Accounts, Mapper: mgr.GetRESTMapper(), Kinds: o.Kinds, Now: o.Now},
	}
	// The index is there before the cache starts, so it needs no context that ends.
	err := mgr.GetFieldIndexer().IndexField(context.Background(), &v1alpha1.Receiver{}, pathIndex, func(o client.Object) []string {
		if r, ok := o.(*v1alpha1.Receiver); ok && r.Status.WebhookPath != "" && r.Spec.Source.Webhook != nil {
			return []string{r.Status.WebhookPath}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("index of Receivers: %w", err)
	}
	if o.Address != "0" {
		if err := mgr.Add(&webhooks{r}); err != nil {
			return err
		}
	}
	if err := mgr.Add(r.consumers); err != nil {
		return err
	}
	c, err := controller.New("receiver", mgr, reconciling.Options(r, o.Concurrent, 20*time.Millisecond, 20*time.Second))
	if err != nil {
		return err
	}
	if err := c.Watch(ctrlsource.Channel(r.consumers.changed, &handler.TypedEnqueueRequestForObject[*v1alpha1.Receiver]{})); err != nil {
		return err
	}
	return c.Watch(ctrlsource.Kind(mgr.GetCache(), &v1alpha1.Receiver{}, &handler.TypedEnqueueRequestForObject[*v1alpha1.Receiver]{}))
}
