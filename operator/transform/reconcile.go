package transform

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/reconciling"
)

// timeout limits the time for one Transform, so that a registry that hangs does not keep a
// goroutine.
const timeout = 5 * time.Minute

// Reconcile implements [reconcile.Reconciler], and counts the reconciliations.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	began := r.Now()
	result, failed, err := r.reconcile(ctx, req)
	reconciling.Count(r.Metrics, r.Now().Sub(began), failed, err)
	return result, err
}

// reconcile brings a Transform one or more steps further. It reports whether a step has failed.
func (r *reconciler) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	t := &v1alpha1.Transform{}
	if err := r.client.Get(ctx, req.NamespacedName, t); apierrors.IsNotFound(err) {
		return reconcile.Result{}, false, r.forget(ctx, req.NamespacedName)
	} else if err != nil {
		return reconcile.Result{}, false, err
	}
	s := &session{reconciler: r, key: req.NamespacedName, t: t, now: r.Now()}
	defer func() { r.Metrics.Observed(s.key, &s.t.Status) }()
	var err error
	if s.p, err = r.platformOf(ctx, t); err != nil {
		return reconcile.Result{}, false, err
	}
	result, err := s.handle(ctx)
	return result, s.failed, err
}

// handle does what the Transform needs.
func (s *session) handle(ctx context.Context) (reconcile.Result, error) {
	switch {
	case s.isPaused():
		return reconciling.Written(reconcile.Result{}, s.paused(ctx))
	case !s.t.DeletionTimestamp.IsZero():
		return s.finish(ctx)
	case !s.allowed(s.t.Namespace):
		return reconciling.Written(reconcile.Result{}, s.notAllowed(ctx))
	case controllerutil.AddFinalizer(s.t, v1alpha1.ManagerFinalizer):
		// The finalizer comes first: a CRD must not be left behind by a Transform that is
		// deleted in the meantime.
		return reconciling.Written(reconcile.Result{}, s.addFinalizer(ctx))
	}
	return s.run(ctx)
}

// paused lists the platform of a paused Transform, for which nothing else is done. A new one gets a status, which shows
// that there is a manager.
func (s *session) paused(ctx context.Context) error {
	if s.t.Status.ObservedGeneration < 0 {
		next := s.t.Status.DeepCopy()
		s.state(next).Set(v1alpha1.ConditionReady, metav1.ConditionFalse, reasonPaused, "the Transform has the label "+v1alpha1.LabelPaused+"; remove it to go on")
		s.observed(next)
		if err := s.writeStatus(ctx, next); err != nil {
			return err
		}
	}
	return s.list(ctx)
}

// addFinalizer writes the finalizer. The update of the Transform has it reconciled again.
func (s *session) addFinalizer(ctx context.Context) error {
	before := s.t.DeepCopy()
	controllerutil.RemoveFinalizer(before, v1alpha1.ManagerFinalizer)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return s.client.Patch(ctx, s.t, patch, client.FieldOwner(v1alpha1.ManagerProgram))
}
