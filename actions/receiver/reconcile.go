package receiver

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/pequod-io/pequod/actions/identity"
	"github.com/pequod-io/pequod/actions/source/webhook"
	"github.com/pequod-io/pequod/api/conditions"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/reconciling"
	"github.com/pequod-io/pequod/internal/source"
)

// The times between two looks at a Receiver.
const (
	// resync is how soon a changed token is noticed. The account, and nobody else, may read it,
	// so it isn't watched.
	resync = 2 * time.Minute
	// retry is how soon a Secret that can't be read is read again.
	retry = 10 * time.Second
)

// Reconcile checks a Receiver, and writes its status.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	ctx = identity.Once(ctx)
	stored := &v1alpha1.Receiver{}
	if err := r.client.Get(ctx, req.NamespacedName, stored); err != nil {
		if apierrors.IsNotFound(err) {
			r.consumers.end(req.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !stored.DeletionTimestamp.IsZero() {
		r.consumers.end(req.NamespacedName)
		return reconcile.Result{}, nil
	}
	next := stored.DeepCopy()
	again := r.observe(ctx, next)
	if equality.Semantic.DeepEqual(stored.Status, next.Status) {
		return reconcile.Result{RequeueAfter: again}, nil
	}
	patch := client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})
	err := r.client.Status().Patch(ctx, next, patch, client.FieldOwner(v1alpha1.ActionsProgram))
	return reconciling.Written(reconcile.Result{RequeueAfter: again}, err)
}

// observe updates the status of a Receiver, and returns when to look at it again.
func (r *reconciler) observe(ctx context.Context, a *v1alpha1.Receiver) time.Duration {
	s := conditions.Writer{To: &a.Status.Conditions, Generation: a.Generation, Now: r.Now()}
	a.Status.ObservedGeneration = a.Generation
	a.Status.ReconcileRequestedAt = source.OneLine(v1alpha1.RequestedAt(a.Annotations), 256)
	name := client.ObjectKeyFromObject(a)
	if a.Labels[v1alpha1.LabelPaused] == "true" {
		r.consumers.end(name)
		s.Progressing(reasonPaused, "the label "+v1alpha1.LabelPaused+" stops the Receiver")
		return 0
	}
	if err := r.effects.Check(&a.Spec); err != nil {
		r.consumers.end(name)
		s.Stalled(reasonInvalid, message(err.Error()))
		return 0
	}
	if a.Spec.Source.Webhook == nil {
		a.Status.WebhookPath = ""
		return r.consumed(ctx, a, s)
	}
	r.consumers.end(name)
	if r.Address == "0" {
		s.Stalled(reasonDisabled, "pequod-actions serves no webhooks; see --receiver-addr")
		return 0
	}
	token, err := webhook.Token(ctx, r.Accounts, a)
	if err != nil {
		// The path stays, so that senders are told to send again: 404 would be final.
		s.Progressing(reasonUnavailable, message("the token of the webhook can't be read: "+err.Error()))
		return retry
	}
	path := webhook.Path(token, a.Namespace, a.Name)
	if a.Status.WebhookPath != path {
		// The server of webhooks finds Receivers by the paths in the cache, so the Receiver isn't
		// ready before the cache has its path. The update of the path brings it back here.
		a.Status.WebhookPath = path
		s.Progressing(reasonConnecting, "the path of the webhook is new")
		return resync
	}
	s.Ready(reasonReceiving, "the webhook is served at the path in status.webhookPath")
	return resync
}

// consumed runs the source of a Receiver, and updates the status by its state.
func (r *reconciler) consumed(ctx context.Context, a *v1alpha1.Receiver, s conditions.Writer) time.Duration {
	of := a.DeepCopy() // outlives the reconciliation
	reported, err := r.consumers.ensure(ctx, a, func(ctx context.Context, report func(error)) { r.consume(ctx, of, report) })
	switch {
	case err != nil:
		s.Progressing(reasonSource, message("the last request has failed, and is repeated: "+err.Error()))
	case !reported:
		s.Progressing(reasonConnecting, "the source is being connected to")
	default:
		s.Ready(reasonReceiving, "messages are received")
	}
	return resync
}
