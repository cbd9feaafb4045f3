package source

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/operator/artifact"
)

// timeout limits one rendering. Its evaluations have limits of their own.
const timeout = 15 * time.Minute

// Reconcile renders the instances of an InstanceSource if something has changed.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	began := r.clock()
	result, err := r.reconcile(ctx, request.NamespacedName, began)
	outcome := "success"
	if err != nil {
		outcome = "error"
		r.Metrics.ReconcileFailed(string(apierrors.ReasonForError(err)))
	}
	r.Metrics.Reconciled(outcome, r.clock().Sub(began))
	return result, err
}

func (r *reconciler) reconcile(ctx context.Context, key types.NamespacedName, now time.Time) (reconcile.Result, error) {
	in := &v1alpha1.InstanceSource{}
	if err := r.client.Get(ctx, key, in); apierrors.IsNotFound(err) {
		// The API server's garbage collector deletes the ExternalArtifact.
		r.forget(key)
		return reconcile.Result{}, r.Store.Prune(ctx, key)
	} else if err != nil {
		return reconcile.Result{}, err
	}
	if in.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	s := &session{
		reconciler: r, key: key, source: in.DeepCopy(), memory: r.remember(key, in.UID), now: now,
		requested: source.OneLine(v1alpha1.RequestedAt(in.Annotations), 256),
	}
	if in.Spec.Suspend {
		return s.written(reconcile.Result{}, s.writeStatus(ctx, s.suspended()))
	}
	return s.run(ctx)
}

// run renders, publishes and writes the status.
func (s *session) run(ctx context.Context) (reconcile.Result, error) {
	f, err := s.render(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	var published *meta.Artifact
	if f == nil {
		published, f, err = s.publish(ctx)
	} else if f.reason != reasonExists {
		err = s.publishFailure(ctx, f)
	}
	if err != nil {
		return again(err)
	}
	if f == nil {
		s.memory.failures = 0
		if err := s.Store.Prune(ctx, s.key, s.kept(published)...); err != nil {
			return again(err)
		}
		return s.written(s.after(s.memory.due.Sub(s.now)), s.writeStatus(ctx, s.succeeded(published)))
	}
	if f.waits {
		return reconcile.Result{RequeueAfter: f.after}, nil
	}
	s.Metrics.ReconcileFailed(f.reason)
	return s.written(s.after(s.pause(f)), s.writeStatus(ctx, s.failed(f)))
}

// render brings the result of the last rendering up to date. It does nothing if the source, the
// settings and the platforms are those of the last rendering, unless that is some time ago.
func (s *session) render(ctx context.Context) (*failure, error) {
	a, f := s.input(ctx)
	if f != nil {
		return f, nil
	}
	m := s.memory
	input := fmt.Sprintf("%d\n%s\n%s\n%s\n%s", s.source.Generation, s.requested, a.Digest, a.URL, a.Revision)
	if m.input == input && s.now.Before(m.due) && s.samePlatforms() {
		return m.failure, nil
	}
	if m.input != input {
		m.failures = 0
	}
	m.input, m.result, m.due = input, nil, s.now.Add(s.interval())
	m.failure = s.renderArtifact(ctx, a)
	if m.failure == nil {
		return nil, nil
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, ctx.Err() // the manager ends
	}
	if !m.failure.stalled {
		m.due = s.now // it is repeated whenever the InstanceSource is reconciled
	}
	return m.failure, nil
}

// renderArtifact fetches, renders and saves.
func (s *session) renderArtifact(ctx context.Context, a *meta.Artifact) *failure {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	files, f := fetch(ctx, a, s.source.Spec.Path)
	if f != nil {
		return f
	}
	b := s.build(ctx, files)
	s.mu.Lock()
	s.memory.platforms = b.platforms
	s.mu.Unlock()
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
	digest, err := s.Store.Save(ctx, s.key, archive)
	if err != nil {
		return &failure{reason: reasonStorage, message: err.Error()}
	}
	s.memory.result = &result{digest: digest, size: int64(len(archive)), instances: len(b.manifests), revision: a.Revision}
	return nil
}

// samePlatforms reports whether the files would be rendered by the same platforms as before.
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

func (s *session) after(wait time.Duration) reconcile.Result {
	return reconcile.Result{RequeueAfter: max(wait, time.Millisecond)}
}

// conflictPause is the time before a repetition because of a conflict: the informers show by then
// what others have written.
const conflictPause = 100 * time.Millisecond

// again returns the result for an error. A conflict is none: it is repeated.
func again(err error) (reconcile.Result, error) {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return reconcile.Result{RequeueAfter: conflictPause}, nil
	}
	return reconcile.Result{}, err
}

// written returns the result after a write of the status, unless it failed.
func (s *session) written(result reconcile.Result, err error) (reconcile.Result, error) {
	if err != nil {
		return again(client.IgnoreNotFound(err))
	}
	return result, nil
}
