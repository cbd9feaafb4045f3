package trace

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/pequod-io/pequod/actions/observe"
	"github.com/pequod-io/pequod/actions/outbox"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Options configure [Setup].
type Options struct {
	Outbox   *outbox.Outbox
	Resource Resource
}

// Setup adds the controller to a manager, whose cache must have graphs with their nodes.
func Setup(mgr manager.Manager, o Options) error {
	graphs := mgr.GetClient()
	return observe.Controller(mgr, mgr.GetCache(), "traces", &v1alpha1.ResourceGraph{}, func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		rg := &v1alpha1.ResourceGraph{}
		if err := graphs.Get(ctx, req.NamespacedName, rg); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		return reconcile.Result{}, o.put(ctx, rg)
	})
}

// put puts the traces of a graph into the outbox, which drops those that it had before.
func (o Options) put(ctx context.Context, rg *v1alpha1.ResourceGraph) error {
	var failed error
	wanted := func(id string, at time.Time) bool {
		wanted, err := o.Outbox.Wants(ctx, id, at)
		failed = cmp.Or(failed, err)
		return wanted
	}
	for _, t := range Of(rg, o.Resource, wanted) {
		body, err := proto.MarshalOptions{Deterministic: true}.Marshal(t.Data)
		if err != nil {
			return reconcile.TerminalError(err)
		}
		header := http.Header{"Content-Type": {"application/x-protobuf"}}
		if err := o.Outbox.Put(ctx, outbox.Message{ID: t.ID, At: t.At, Header: header, Body: body}); err != nil {
			return err
		}
	}
	return failed
}
