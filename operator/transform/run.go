package transform

import (
	"cmp"
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/fetch"
	"github.com/pequod-io/pequod/operator/roles"
	"github.com/pequod-io/pequod/operator/worker"
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
	for _, step := range steps {
		b, err := step.do(ctx)
		if err != nil && ctx.Err() == nil {
			b = requestFailed(step.condition, err)
		}
		if err != nil && b == nil {
			return again(err)
		}
		// Steps write the status, too.
		next = s.t.Status.DeepCopy()
		if b != nil {
			return s.stop(ctx, next, b)
		}
	}
	s.publish()
	s.succeeded(next)
	return s.written(s.after(nil), s.writeStatus(ctx, next))
}

// conflictPause is the time before a repetition because of a conflict: the informers show by
// then what others have written.
const conflictPause = 100 * time.Millisecond

// again returns the result for an error. A conflict is none: it is repeated.
func again(err error) (reconcile.Result, error) {
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: conflictPause}, nil
	}
	return reconcile.Result{}, err
}

// written returns the result after a write of the Transform, unless the write failed.
func (s *session) written(result reconcile.Result, err error) (reconcile.Result, error) {
	if err != nil {
		return again(client.IgnoreNotFound(err))
	}
	return result, nil
}

// stop writes the status of a Transform that a step blocks. The last good version stays.
func (s *session) stop(ctx context.Context, next *v1alpha1.TransformStatus, b *blocked) (reconcile.Result, error) {
	err := s.keep(ctx)
	s.blockedBy(next, b)
	if err != nil {
		return again(err)
	}
	return s.written(s.after(b), s.writeStatus(ctx, next))
}

// after returns when the Transform is reconciled without an event.
func (s *session) after(b *blocked) reconcile.Result {
	wait := s.soon
	if b != nil {
		wait = b.after
	}
	if !s.p.due.IsZero() {
		until := max(s.p.due.Sub(s.now), time.Millisecond)
		wait = min(cmp.Or(wait, until), until)
	}
	return reconcile.Result{RequeueAfter: wait}
}

// fetch opens the module, if the Transform has changed, if it was requested, or if the
// reference may refer to something else by now.
func (s *session) fetch(ctx context.Context) (*blocked, error) {
	p, request := s.p, requested(s.t)
	same := p.generation == s.t.Generation && p.request == request && (p.fetched != nil || p.block != nil)
	if same && (p.due.IsZero() || s.now.Before(p.due)) {
		return s.blockOf(v1alpha1.ConditionCueFetched), nil
	}
	if p.generation != s.t.Generation || p.request != request {
		p.failures = 0
	}
	fetched, err := s.Fetcher.Fetch(ctx, s.t)
	if errors.Is(err, context.Canceled) {
		return nil, err // the manager ends
	}
	p.generation, p.request, p.block, p.due = s.t.Generation, request, nil, time.Time{}
	if err != nil {
		return s.failed(s.fetchFailed(s.t, err, p.failures)), nil
	}
	if fetched.Moving {
		p.due = s.now.Add(interval(s.t))
	}
	if p.fetched == nil || p.fetched.Digest != fetched.Digest {
		p.loaded = nil
	} else if p.loaded != nil {
		p.failures = 0
	}
	p.fetched = fetched
	return nil, nil
}

// load evaluates the module.
func (s *session) load(ctx context.Context) (*blocked, error) {
	p := s.p
	if b := s.blockOf(v1alpha1.ConditionSchemaExtracted); b != nil || p.loaded != nil {
		return b, nil
	}
	loaded, err := s.Loader.Load(ctx, worker.Key{Transform: s.key, Digest: p.fetched.Digest}, p.fetched.Sources)
	if errors.Is(err, context.Canceled) {
		return nil, err
	}
	if err != nil {
		return s.failed(s.loadFailed(s.t, err, p.failures)), nil
	}
	p.loaded, p.rules, p.unknown, p.failures = loaded, nil, nil, 0
	return nil, nil
}

// blockOf returns the block of the last fetch or load, if it is that of a step.
func (s *session) blockOf(condition string) *blocked {
	if s.p.block != nil && s.p.block.condition == condition {
		return s.p.block
	}
	return nil
}

// failed records a failed fetch or load, which is repeated at due.
func (s *session) failed(b *blocked) *blocked {
	s.p.block, s.p.due = b, s.now.Add(b.after)
	s.p.failures++
	return b
}

// requested returns the value of the annotation that requests a reconciliation. If there are
// two, it is the later one of times.
func requested(t *v1alpha1.Transform) string {
	value := max(t.Annotations[v1alpha1.AnnotationReconcileRequestedAt], t.Annotations[v1alpha1.AnnotationFluxRequestedAt])
	return value[:min(len(value), 256)]
}

// entry returns the entry of the platform in the catalog.
func (s *session) entry(fetched *fetch.Fetched, loaded *worker.Loaded) *catalog.Entry {
	return &catalog.Entry{
		Transform: s.key, UID: s.t.UID, Generation: s.t.Generation,
		Digest: fetched.Digest, Sources: fetched.Sources, Module: catalog.Module(loaded.Module), Names: loaded.Names,
		Paused: s.isPaused(), IgnoresLabels: loaded.IgnoresLabels, IgnoresAnnotations: loaded.IgnoresAnnotations,
		ServiceAccountName: s.t.Spec.ServiceAccountName, Account: roles.Account(s.Namespace, s.key),
		GraphDeletionPolicy: s.t.Spec.GraphDeletionPolicy,
	}
}

// isPaused reports whether nothing is written for the Transform and its instances.
func (s *session) isPaused() bool { return s.t.Labels[v1alpha1.LabelPaused] == "true" }

// publish lists the platform in the catalog, and keeps its sources for a restart.
func (s *session) publish() {
	s.Catalog.Set(s.entry(s.p.fetched, s.p.loaded))
	s.store.save(s.t.UID, s.p.fetched.Digest, s.p.fetched.Sources)
}

// keep keeps the last good version in the catalog. A restarted process lists it if it finds
// its sources and its CRD. Without them, its instances are not rendered until the Transform is
// ready.
func (s *session) keep(ctx context.Context) error {
	if old := s.Catalog.Of(s.key); old != nil {
		kept := *old
		kept.Paused = s.isPaused()
		s.Catalog.Set(&kept)
		return nil
	}
	if s.t.Status.GeneratedCRD == "" || s.t.Status.ResolvedCueRef == nil {
		return nil
	}
	fetched := s.store.read(s.t.UID)
	if fetched == nil {
		return nil
	}
	loaded, err := s.Loader.Load(ctx, worker.Key{Transform: s.key, Digest: fetched.Digest}, fetched.Sources)
	if err != nil {
		s.store.remove(s.t.UID) // it was good once: do not try it again
		return ctx.Err()
	}
	if loaded.Module.Digest == s.t.Status.ResolvedCueRef.Digest && loaded.CRD.Name == s.t.Status.GeneratedCRD && s.served(ctx, loaded.CRD.Name) {
		s.Catalog.Set(s.entry(fetched, loaded))
	}
	return nil
}

// paused lists a platform whose CRD is as it should be, and writes nothing.
func (s *session) paused(ctx context.Context) error {
	for _, step := range []func(context.Context) (*blocked, error){s.fetch, s.load} {
		if b, err := step(ctx); b != nil || err != nil {
			return errors.Join(err, s.keep(ctx))
		}
	}
	if s.inPlace(ctx) {
		s.Catalog.Set(s.entry(s.p.fetched, s.p.loaded))
		return nil
	}
	return s.keep(ctx)
}

// notAllowed refuses a Transform of a namespace that is not the manager's.
func (s *session) notAllowed(ctx context.Context) error {
	s.Catalog.Delete(s.key)
	next := s.t.Status.DeepCopy()
	s.blockedBy(next, &blocked{
		reason:  v1alpha1.ReasonNamespaceNotAllowed,
		message: "Transforms of namespace " + s.t.Namespace + " are ignored: --transform-namespaces of pequod-manager lacks it", stalled: true,
	})
	return ignoreConflict(s.writeStatus(ctx, next))
}

// writeStatus writes the status if it has changed, and Events about what has changed. The
// error is a conflict if the Transform was changed since it was read.
func (s *session) writeStatus(ctx context.Context, next *v1alpha1.TransformStatus) error {
	if sameStatus(&s.t.Status, next) {
		return nil
	}
	before := s.t.DeepCopy()
	s.t.Status = *next
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := s.client.Status().Patch(ctx, s.t, patch, client.FieldOwner(fieldManager)); err != nil {
		s.t.Status = before.Status
		return err
	}
	s.report(before)
	return nil
}

// condition returns a condition of a status, or a zero one.
func condition(status *v1alpha1.TransformStatus, name string) metav1.Condition {
	if c := apimeta.FindStatusCondition(status.Conditions, name); c != nil {
		return *c
	}
	return metav1.Condition{}
}
