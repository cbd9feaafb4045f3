package transform

import (
	"cmp"
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/reconciling"
)

// run goes through the steps, and writes the status.
func (s *session) run(ctx context.Context) (reconcile.Result, error) {
	steps := []struct {
		condition string
		do        func(context.Context) (*blocked, error)
	}{
		{v1alpha1.ConditionCueFetched, s.fetch},
		{v1alpha1.ConditionSchemaExtracted, s.load},
		{v1alpha1.ConditionCRDGenerated, s.define},
		{v1alpha1.ConditionRBACConfigured, s.grant},
	}
	next := s.t.Status.DeepCopy()
	if next.ObservedGeneration < 0 {
		// The first steps may take minutes.
		s.blockedBy(next, &blocked{condition: v1alpha1.ConditionCueFetched, reason: reasonProgressing, message: "the module is being fetched and evaluated"})
		if err := s.writeStatus(ctx, next); err != nil {
			return reconciling.Written(reconcile.Result{}, err)
		}
	}
	// Each step begins with a look at what is there, so that a session can end after any of them
	// and the next one continues.
	for _, step := range steps {
		b, err := step.do(ctx)
		// The API server refuses some requests until a user changes something. The status says so;
		// all other errors are repeated with a backoff.
		if err != nil && ctx.Err() == nil {
			b = requestFailed(step.condition, err)
		}
		if err != nil && b == nil {
			return reconciling.Again(err)
		}
		// Steps write the status, too.
		next = s.t.Status.DeepCopy()
		if b != nil {
			return s.stop(ctx, next, b)
		}
	}
	if err := s.publish(ctx); err != nil {
		if b := requestFailed("", err); b != nil && ctx.Err() == nil {
			return s.stop(ctx, next, b)
		}
		return reconciling.Again(err)
	}
	if b, wait := s.unlisted(); b != nil {
		return s.stop(ctx, next, b)
	} else if wait > 0 {
		s.soon = wait
		return s.after(nil), nil
	}
	if b := s.stillLost(); b != nil {
		return s.stop(ctx, next, b)
	}
	s.succeeded(next)
	return reconciling.Written(s.after(nil), s.writeStatus(ctx, next))
}

// stop writes the status of a Transform that a step blocks. The last good version stays.
func (s *session) stop(ctx context.Context, next *v1alpha1.TransformStatus, b *blocked) (reconcile.Result, error) {
	err := s.keep(ctx)
	if err == nil {
		err = s.explain(ctx, b)
	}
	s.blockedBy(next, b)
	s.Metrics.ReconcileFailed(b.reason)
	if err != nil {
		return reconciling.Again(err)
	}
	return reconciling.Written(s.after(b), s.writeStatus(ctx, next))
}

// after returns when the Transform is reconciled without an event.
func (s *session) after(b *blocked) reconcile.Result {
	wait := s.soon
	if b != nil {
		wait = b.after
	}
	// The next fetch may be earlier than the repetition of another step, and the other way round.
	if !s.p.due.IsZero() {
		until := max(s.p.due.Sub(s.now), time.Millisecond)
		wait = min(cmp.Or(wait, until), until)
	}
	return reconcile.Result{RequeueAfter: wait}
}

// notAllowed refuses a Transform of a namespace that is not the manager's.
func (s *session) notAllowed(ctx context.Context) error {
	s.Catalog.Delete(s.key)
	next := s.t.Status.DeepCopy()
	s.blockedBy(next, &blocked{
		reason:  v1alpha1.ReasonNamespaceNotAllowed,
		message: "Transforms of namespace " + s.t.Namespace + " are ignored: --transform-namespaces of pequod-manager lacks it", stalled: true,
	})
	return s.writeStatus(ctx, next)
}
