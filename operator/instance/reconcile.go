package instance

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/reconciling"
	"github.com/pequod-io/pequod/internal/source"
)

// beginAfter is how long an execution may take before the status shows that it has begun. A
// status that soon changes again is not written.
const beginAfter = time.Second

// Statuses that only show that an execution goes on are limited, as those of graphs are: for all
// instances together, progressAtOnce at once and then progressAverage a second, until
// an execution takes longer than yieldFor. With a thousand instances at once, such writes would
// make all of them take longer.
const (
	yieldFor        = 20 * time.Second
	progressAtOnce  = 10
	progressAverage = 2
)

// Reconcile handles one instance. It implements the Reconciler of controller-runtime.
func (k *kind) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	began := k.now()
	k.queue.Load().leave(request.NamespacedName)
	result, refused, err := k.reconcile(ctx, request.NamespacedName, began)
	if ctx.Err() != nil {
		return reconcile.Result{}, nil // the kind is stopped
	}
	reconciling.Count(k.Metrics, k.now().Sub(began), refused, err)
	return result, err
}

// reconcile handles one instance, and reports whether it is refused.
func (k *kind) reconcile(ctx context.Context, key types.NamespacedName, began time.Time) (result reconcile.Result, refused bool, err error) {
	instance := k.get(key)
	if instance == nil {
		k.forget(key)
		return reconcile.Result{}, false, nil
	}
	e := k.entry.Load()
	t := &task{kind: k, latest: e, chosen: e, instance: instance, memory: k.remember(key, instance), requested: source.OneLine(v1alpha1.RequestedAt(instance.GetAnnotations()), 256)}
	if t.stored, err = t.memory.storedStatus(instance, t.chosen.StatusFields, began); err != nil {
		return reconcile.Result{}, false, err
	}
	s, failed := t.settle(ctx)
	t.show(s)
	if s.outdated {
		return reconcile.Result{RequeueAfter: rereadAfter}, false, nil
	}
	if t.countFailure(&s, failed) {
		k.noteForbidden(key, apierrors.IsForbidden(failed))
		return reconcile.Result{}, false, failed
	}
	refused = s.refusal != nil
	next := compose(s)
	t.report(s.refusal)
	wait := t.patience(s, next)
	if wait == 0 {
		err := t.writeStatus(ctx, next)
		if t.refusesOwn(err, next) {
			s.own.former = t.memory.refusedStatus
			err = t.writeStatus(ctx, compose(s))
		}
		if apierrors.IsConflict(err) {
			// The UID is not that of the instance, which the informer shows soon, or others
			// wrote so often that the API server has given up.
			return reconcile.Result{RequeueAfter: rereadAfter}, refused, failed
		}
		failed = errors.Join(failed, client.IgnoreNotFound(err))
		wait = t.next(s)
	}
	k.noteForbidden(key, apierrors.IsForbidden(failed))
	if failed != nil {
		return reconcile.Result{}, refused, failed // the queue decides when to try again
	}
	return reconcile.Result{RequeueAfter: wait}, refused, nil
}

// maxFailures is the number of attempts to make the graph what the instance demands before
// the status shows why they fail. Most errors pass before.
const maxFailures = 3

// countFailure counts a failed request, and reports whether nothing is known about the graph because of
// it, so that there is no status: the graph may have the content of an earlier generation. If that
// lasts, the error becomes the refusal of the situation.
func (t *task) countFailure(s *situation, failed error) bool {
	if failed == nil || s.refusal != nil {
		t.memory.failures = 0
		return false
	}
	if t.memory.failures++; t.memory.failures < maxFailures {
		return true
	}
	s.refusal = &refusal{reason: reasonGraphNotWritten, message: failed.Error(), retried: true}
	return false
}

// rereadAfter is when to try again to write an object that was changed meanwhile. The informer
// usually shows the change before.
const rereadAfter = 100 * time.Millisecond

// trustWrites is how long a watch may take to show a write of this process. After that,
// the watch is right: the history of the cluster may have been rewritten, as by restoring
// etcd, and versions that are lower than that of the write are the newest then.
const trustWrites = time.Minute

// settle makes the graph what the instance demands, and returns the situation that it found
// or led to. The error is one after which it has to be tried again.
func (t *task) settle(ctx context.Context) (situation, error) {
	s := situation{
		generation: t.instance.GetGeneration(), stored: t.stored, requested: t.requested,
		own: ownStatus{names: t.chosen.StatusFields, former: t.memory.refusedStatus},
	}
	key := t.graphKey()
	if t.now().Sub(t.memory.writtenAt) > trustWrites {
		t.memory.written = nil
	}
	s.graph = t.Graphs.get(key, t.memory.written)
	if t.memory.written != s.graph {
		t.memory.written = nil // the watch has shown it, or a later one
	}
	if s.deleting = t.instance.GetDeletionTimestamp() != nil; s.deleting {
		return s, nil
	}
	if s.paused = t.pausedBy(); s.paused != "" {
		return s, nil
	}
	if why := t.chosen.NotReady; why != "" {
		s.refusal = &refusal{reason: reasonTransformNotReady, message: "Transform " + t.chosen.Transform.String() + " isn't ready: " + why, retried: true, phase: phasePending}
		return s, nil
	}
	var decided bool
	if decided, s.refusal = t.choose(s.graph); s.refusal != nil {
		if s.graph != nil {
			t.forecast(ctx, s.graph.platform.Digest, false)
		}
		return s, nil
	} else if !decided {
		s.outdated = true
		return s, nil
	}
	t.render(ctx, s.graph, false)
	t.forecast(ctx, t.chosen.Module.Digest, true)
	if s.refusal = t.memory.rendering.refusal; s.refusal != nil {
		return s, nil
	}
	if t.refuseElsewhere(&s, key); s.refusal != nil {
		return s, nil
	}
	found := s.graph
	if found == nil && (t.stored.ResourceGraphRef != nil || t.memory.hidden) {
		var err error
		if found, err = t.findGraph(ctx, key); err != nil {
			return s, err
		}
		t.memory.hidden = found != nil
	}
	if s.refusal = t.refuseGraph(found); s.refusal != nil {
		return s, nil
	}
	if found != nil && t.upToDate(found) {
		t.memory.rendering.graph = nil
		return s, nil
	}
	lost := found == nil && t.stored.ResourceGraphRef != nil
	if lost || found != nil && !t.owns(found) {
		exists, err := t.stillExists(ctx)
		if err != nil {
			return s, err
		}
		if s.deleting = !exists; s.deleting {
			return s, nil
		}
	}
	return s, t.replaceGraph(ctx, &s, found)
}

// replaceGraph writes the graph of a situation. Before is the graph as it is, or nil.
func (t *task) replaceGraph(ctx context.Context, s *situation, before *graphView) error {
	t.render(ctx, nil, true) // if only the digest of the graph is known
	if s.refusal = t.memory.rendering.refusal; s.refusal != nil {
		return nil
	}
	g, err := t.writeGraph(ctx, before)
	if err != nil {
		if apierrors.IsConflict(err) {
			s.outdated, t.memory.hidden = true, before == nil
			return nil
		}
		s.refusal = refusedByServer(err)
		if s.refusal != nil && !s.refusal.retried {
			t.memory.rendering.refusal, t.memory.rendering.graph = s.refusal, nil
			return nil
		}
		return err
	}
	t.memory.rendering.graph = nil
	s.graph = g
	return nil
}

// patience returns how long to wait before a status is written that only shows that the
// execution of the graph goes on; 0 means not to wait. Most executions end before.
func (t *task) patience(s situation, next *status) time.Duration {
	if s.refusal != nil || s.paused != "" || s.deleting || s.graph == nil || next.Phase != phasePending || next.FirstFailure != nil {
		return 0
	}
	since := t.now().Sub(t.memory.writtenAt)
	if since < beginAfter {
		return beginAfter - since
	}
	if since < yieldFor && !equality.Semantic.DeepEqual(t.stored, next) && !t.progress.TryAccept() {
		return beginAfter
	}
	return 0
}

// relookAfter is when to look again for a graph that the watch doesn't show: one that was written,
// in case that it was deleted before the watch saw it, or one of other origin.
const relookAfter = 10 * time.Second

// next returns when to reconcile an instance again whatever happens; 0 means never.
func (t *task) next(s situation) time.Duration {
	switch r := &t.memory.rendering; {
	case s.deleting || s.paused != "":
		return 0
	case !t.memory.forecast.retry.IsZero():
		return max(time.Millisecond, t.memory.forecast.retry.Sub(t.now()))
	case s.refusal != nil && s.refusal == r.refusal && s.refusal.retried:
		return max(time.Millisecond, r.retry.Sub(t.now()))
	case t.memory.written != nil, s.refusal != nil && s.refusal.reason == reasonGraphExists:
		return relookAfter
	case t.memory.status != nil:
		return trustWrites
	}
	return 0
}

// pausedBy returns why the instance is paused, or "".
func (t *task) pausedBy() string {
	if isPaused(t.instance) {
		return "the instance is paused by its label " + v1alpha1.LabelPaused + "; its ResourceGraph is not changed"
	}
	if t.chosen.Paused {
		return "Transform " + t.chosen.Transform.String() + " is paused by its label " + v1alpha1.LabelPaused + "; the ResourceGraph is not changed"
	}
	return ""
}

// refuseElsewhere refuses a cluster-scoped instance that has a graph in another namespace than
// its graphNamespace: both graphs would want the same objects.
func (t *task) refuseElsewhere(s *situation, key types.NamespacedName) {
	if t.chosen.Names.Scope != v1alpha1.ScopeCluster {
		return
	}
	g := t.Graphs.inOtherNamespace(t.source(), t.instance.GetUID(), key)
	if g == nil {
		return
	}
	s.graph = g
	s.refusal = &refusal{reason: reasonGraphElsewhere, message: "the ResourceGraph of the instance is " + g.Namespace + "/" + g.Name +
		"; set graphNamespace to " + g.Namespace + ", or delete that ResourceGraph, which deletes its objects"}
}
