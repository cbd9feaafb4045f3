package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/reconciling"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/operator/artifact"
	"github.com/pequod-io/pequod/operator/catalog"
)

// timeout limits one rendering. Evaluations have shorter limits of their own.
const timeout = 15 * time.Minute

// Reconcile renders the instances of an InstanceSource if something has changed.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	began := r.Now()
	result, failed, err := r.reconcile(ctx, request.NamespacedName, began)
	reconciling.Count(r.Metrics, r.Now().Sub(began), failed, err)
	return result, err
}

// reconcile is Reconcile without the count. It also reports whether there is a failure.
func (r *reconciler) reconcile(ctx context.Context, key types.NamespacedName, now time.Time) (reconcile.Result, bool, error) {
	in := &v1alpha1.InstanceSource{}
	if err := r.client.Get(ctx, key, in); key.Name == "" || apierrors.IsNotFound(err) {
		// The API server's garbage collector deletes the ExternalArtifact.
		r.forget(key)
		return reconcile.Result{}, false, r.Store.Prune(ctx, key)
	} else if err != nil {
		return reconcile.Result{}, false, err
	}
	if in.DeletionTimestamp != nil {
		return reconcile.Result{}, false, nil
	}
	s := &session{
		reconciler: r, key: key, source: in.DeepCopy(), memory: r.remember(key, in.UID), now: now,
		requested: source.OneLine(v1alpha1.RequestedAt(in.Annotations), 256),
	}
	if in.Spec.Suspend {
		result, err := reconciling.Written(reconcile.Result{}, s.writeStatus(ctx, s.suspended()))
		return result, false, err
	}
	result, err := s.run(ctx)
	return result, s.failing, err
}

// run renders, publishes and writes the status.
func (s *session) run(ctx context.Context) (reconcile.Result, error) {
	f, err := s.render(ctx)
	if err != nil {
		return again(err)
	}
	var published *meta.Artifact
	if f == nil {
		published, f, err = s.publish(ctx)
	} else {
		err = s.publishFailure(ctx, f)
	}
	if err != nil {
		return again(err)
	}
	wait := s.memory.due.Sub(s.now)
	switch {
	case f == nil:
		s.memory.failures = 0
		if err := s.Store.Prune(ctx, s.key, s.kept(published)...); err != nil {
			return again(err)
		}
		return reconciling.Written(after(wait), s.writeStatus(ctx, s.succeeded(published)))
	case f.waits:
		return after(wait), nil
	case f != s.memory.failure:
		wait = s.pause(f) // the cause isn't the rendering, whose next attempt is due at another time
	}
	s.failing = true
	s.Metrics.ReconcileFailed(f.reason)
	return reconciling.Written(after(wait), s.writeStatus(ctx, s.failed(f)))
}

// render brings the result of the last rendering up to date, or its failure.
func (s *session) render(ctx context.Context) (*failure, error) {
	a, f := s.input(ctx)
	if f != nil {
		return f, nil
	}
	m := s.memory
	input, address := fmt.Sprintf("%d\n%s\n%s", s.source.Generation, s.requested, a.Digest), a.URL+"\n"+a.Revision
	if m.input == input {
		if current, err := s.isCurrent(ctx, a.Revision, address); err != nil || current {
			return m.failure, err
		}
	} else {
		m.failures = 0
	}
	if s.source.Status.ObservedGeneration < 0 { // the default of the CRD: no manager has seen it
		if err := s.writeStatus(ctx, s.progressing(a.Revision)); err != nil {
			return nil, err
		}
	}
	m.input, m.address, m.result = input, address, nil
	m.failure = s.renderArtifact(ctx, a)
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return nil, ctx.Err() // the manager ends
	case !s.samePlatforms():
		// watchCatalog didn't know yet that the files have this kind.
		m.due = s.now
	case m.failure == nil:
		m.due = s.now.Add(s.interval())
	default:
		m.due = s.now.Add(s.pause(m.failure))
	}
	return m.failure, nil
}

// isCurrent reports whether another rendering of the same input would have the outcome of the last
// one. The files and the platforms of their kinds decide about it, since modules see neither the
// time nor the cluster; and the room, if a quota was exceeded. At the interval, isCurrent checks that
// the archive still exists. Two kinds of failures are then tried again: those that may pass, and those
// about kinds without a platform, whose messages depend on the status of Transforms.
func (s *session) isCurrent(ctx context.Context, revision, address string) (bool, error) {
	m := s.memory
	if !s.samePlatforms() || m.failure != nil && m.address != address {
		return false, nil // messages of failures have the address
	}
	if m.result != nil {
		m.address, m.result.revision = address, revision
	}
	if m.failure != nil && m.failure.quota != nil {
		err := s.Store.Room(ctx, s.key, m.failure.quota, s.served(ctx)...)
		f := s.unsaved(err)
		if f == nil || f.quota == nil {
			return false, err
		}
		if !s.now.Before(m.due) { // the message has other figures
			m.failure, m.due = f, s.now.Add(s.interval())
		}
		return true, nil
	}
	unknown := slices.Contains(slices.Collect(maps.Values(m.platforms)), "")
	switch {
	case s.now.Before(m.due):
		return true, nil
	case m.failure != nil && (!m.failure.stalled || unknown):
		return false, nil
	case m.failure == nil:
		if found, err := s.Store.Has(ctx, s.key, m.result.digest); err != nil || !found {
			return false, err
		}
	}
	m.due = s.now.Add(s.interval())
	return true, nil
}

// renderArtifact fetches, renders and saves.
func (s *session) renderArtifact(ctx context.Context, a *meta.Artifact) *failure {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	s.usePlatforms(nil)
	files, f := fetch(ctx, a, s.source.Spec.Path)
	if f != nil {
		return f
	}
	b := s.build(ctx, files)
	s.usePlatforms(b.entries)
	if b.failure != nil {
		return b.failure
	}
	archive, err := pack(b.manifests)
	if err != nil {
		return &failure{reason: reasonStorage, message: err.Error(), stalled: true}
	}
	if len(archive) > artifact.MaxSize {
		return tooLarge("the archive of the graphs is", artifact.MaxSize)
	}
	s.wantRoom(true)
	digest, err := s.Store.Save(ctx, s.key, archive, s.served(ctx)...)
	f = s.unsaved(err)
	if s.wantRoom(f != nil && f.quota != nil); f != nil {
		return f
	}
	s.memory.result = &result{digest: digest, size: int64(len(archive)), instances: len(b.manifests), revision: a.Revision}
	return nil
}

// wantRoom records whether the InstanceSource is reconciled again when an archive is deleted.
func (s *session) wantRoom(wants bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.memory.wantsRoom = wants
}

// unsaved returns the failure of an archive that wasn't saved, or nil without an error.
func (s *session) unsaved(err error) *failure {
	var limit *artifact.LimitError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &limit):
		return &failure{reason: reasonStorage, message: err.Error()}
	case limit.Until.IsZero():
		return &failure{reason: reasonQuota, message: err.Error(), stalled: true, quota: limit}
	}
	return &failure{reason: reasonRate, message: err.Error(), after: max(time.Second, limit.Until.Sub(s.now))}
}

// usePlatforms records the platforms that a rendering used.
func (s *session) usePlatforms(entries map[schema.GroupKind]*catalog.Entry) {
	platforms := map[schema.GroupKind]string{}
	for kind, e := range entries {
		platforms[kind] = identity(e)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.memory.platforms = platforms
}

// samePlatforms reports whether the catalog still has the platforms that the last rendering used.
func (s *session) samePlatforms() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for kind, used := range s.memory.platforms {
		if identity(s.Catalog.Get(kind)) != used {
			return false
		}
	}
	return true
}

// pause returns the time before a failure is tried again.
func (s *session) pause(f *failure) time.Duration {
	s.memory.failures++
	switch {
	case f.after > 0:
		return f.after
	case f.stalled:
		return s.interval()
	}
	return min(s.Backoff<<min(s.memory.failures-1, 20), s.interval())
}

func after(wait time.Duration) reconcile.Result {
	return reconcile.Result{RequeueAfter: max(wait, time.Millisecond)}
}

// again returns the result for an error. After a conflict, the reconciliation is repeated soon, as it is if
// others have created the same object meanwhile.
func again(err error) (reconcile.Result, error) {
	if apierrors.IsAlreadyExists(err) {
		return reconcile.Result{RequeueAfter: reconciling.ConflictPause}, nil
	}
	return reconciling.Again(err)
}
