package action

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/pequod-io/pequod/actions/identity"
	"github.com/pequod-io/pequod/actions/runs"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/reconciling"
)

// timeout limits one reconciliation, so that a server that hangs doesn't keep a goroutine.
const timeout = 2 * time.Minute

// conflicts is how often a write that conflicts is repeated at once.
const conflicts = 5

// Reconcile does the next step of an Action.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (result reconcile.Result, err error) {
	began, outcome := r.Now(), "success"
	defer func() {
		if err != nil {
			outcome = "error"
		}
		r.Metrics.Reconciled(outcome, r.Now().Sub(began))
	}()
	ctx, cancel := context.WithTimeout(identity.Once(ctx), timeout)
	defer cancel()
	waits := false
	defer func() { r.places.leave(req.NamespacedName, waits) }()
	r.turns.take()
	defer r.turns.end()
	a := &v1alpha1.Action{}
	if err := r.client.Get(ctx, req.NamespacedName, a); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if r.outdated(req.NamespacedName, a) {
		if err := r.live.Get(ctx, req.NamespacedName, a); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
	}
	if !a.DeletionTimestamp.IsZero() && !controllerutil.ContainsFinalizer(a, v1alpha1.ActionFinalizer) {
		return reconcile.Result{}, nil // others keep it
	}
	// The finalizer comes first: what a run has made must not be left behind.
	if a.DeletionTimestamp.IsZero() && controllerutil.AddFinalizer(a, v1alpha1.ActionFinalizer) {
		before := a.DeepCopy()
		controllerutil.RemoveFinalizer(before, v1alpha1.ActionFinalizer)
		if err := r.patch(ctx, before, a); err != nil {
			return reconciling.Written(reconcile.Result{}, err)
		}
	}
	for {
		s := &session{reconciler: r, a: a, goal: goal(a), now: r.Now(), next: a.Status.DeepCopy()}
		s.asked(a.Annotations[v1alpha1.AnnotationObserveRequestedAt])
		step := runs.Next(s.goal, &a.Status, s.poll(), s.now)
		if waits = !s.enter(step); waits {
			return s.wait(ctx)
		}
		// A run that was recorded is begun at once. In the queue it would wait behind all other Actions, and
		// a run is only known to be unsent for freshFor.
		if result, err = s.step(ctx, step); err != nil || !s.begin {
			return result, err
		}
	}
}

// enter reports whether the Action may do a step now: one at a server needs a place there.
func (s *session) enter(step runs.Step) bool {
	server, outside := s.server(step)
	return !outside || s.places.enter(client.ObjectKeyFromObject(s.a), server)
}

// sayAfter is how long an Action waits for a place at a server before its status says so.
const sayAfter = 10 * time.Second

// wait waits until another Action leaves the server. If nothing has been said about the spec, it is said why.
func (s *session) wait(ctx context.Context) (reconcile.Result, error) {
	if s.a.Status.ObservedGeneration == s.goal.Generation || s.goal.Deleting {
		return reconcile.Result{}, nil
	}
	if left := sayAfter - s.places.waited(client.ObjectKeyFromObject(s.a)); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	s.next.ObservedGeneration = s.goal.Generation
	s.progressing(reasonWaitingForServer, fmt.Sprintf("the run waits for other Actions: at most %d are at one server, and %d at all", perServer, atServers))
	_, err := s.store(ctx)
	return reconcile.Result{}, err
}

// server returns the server of a step, and whether it has one. The server of a run that is recorded is that
// at which it begins.
func (s *session) server(step runs.Step) (server string, outside bool) {
	switch step.Do {
	case runs.Wait, runs.GiveUp, runs.Release:
		return "", false
	case runs.Record:
		return serverOf(s.request(step.Purpose)), true
	}
	return serverOf(s.a.Status.Run.Request), true
}

// patch writes the metadata of an Action, unless it was changed since it was read.
func (r *reconciler) patch(ctx context.Context, before, a *v1alpha1.Action) error {
	return r.client.Patch(ctx, a, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(v1alpha1.ActionsProgram))
}

// session is one reconciliation of an Action.
type session struct {
	*reconciler
	a    *v1alpha1.Action
	goal runs.Goal
	now  time.Time
	// next is the status to write.
	next *v1alpha1.ActionStatus
	// recorded is set if the write records a run, and begin if the run was recorded.
	recorded, begin bool
	// waits is why the outputs of the last run can't be read now.
	waits string
}

// write writes the status if it has changed, and Events about what has changed. The error is
// a conflict if the Action was changed since it was read. The write has it reconciled again.
func (s *session) write(ctx context.Context) (reconcile.Result, error) {
	s.conditions()
	return s.store(ctx)
}

// store writes the next status as it is.
func (s *session) store(ctx context.Context) (reconcile.Result, error) {
	if equality.Semantic.DeepEqual(&s.a.Status, s.next) {
		return s.later(), nil
	}
	before := s.a.DeepCopy()
	s.a.Status = *s.next
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err := s.client.Status().Patch(ctx, s.a, patch, client.FieldOwner(v1alpha1.ActionsProgram))
	for range conflicts {
		if !apierrors.IsConflict(err) || s.recorded {
			break
		}
		err = s.storeBeside(ctx, before, err)
	}
	if err != nil {
		return reconciling.Written(reconcile.Result{}, err)
	}
	s.remember(func(k *known) { k.written = s.a.ResourceVersion })
	s.stored(&before.Status)
	return s.later(), nil
}

// storeBeside writes the next status after a conflict with a change of anything but the status.
// Otherwise the answer of a server would be lost, and its request would be sent again. If the status
// was changed, another process has recorded something, and the conflict is returned.
func (s *session) storeBeside(ctx context.Context, before *v1alpha1.Action, conflict error) error {
	live := &v1alpha1.Action{}
	if err := s.live.Get(ctx, client.ObjectKeyFromObject(before), live); err != nil {
		return err
	}
	if live.UID != before.UID || !equality.Semantic.DeepEqual(live.Status, before.Status) {
		return conflict
	}
	patch := client.MergeFromWithOptions(live.DeepCopy(), client.MergeFromWithOptimisticLock{})
	live.Status = *s.next
	err := s.client.Status().Patch(ctx, live, patch, client.FieldOwner(v1alpha1.ActionsProgram))
	s.a.ResourceVersion = live.ResourceVersion
	return err
}

// stored takes notice of a write, and reports what it has changed. A run that it has recorded has
// not begun.
func (s *session) stored(before *v1alpha1.ActionStatus) {
	if s.begin = s.recorded; s.begin {
		s.remember(func(k *known) { k.fresh, k.freshUntil = s.next.Run.Key, s.now.Add(freshFor) })
	}
	s.report(before)
}

// later returns when the Action is due without an event.
func (s *session) later() reconcile.Result {
	step := runs.Next(s.goal, s.next, s.poll(), s.now)
	switch {
	case step.Do != runs.Wait:
		return reconcile.Result{RequeueAfter: time.Millisecond}
	case step.At.IsZero():
		return reconcile.Result{}
	}
	return reconcile.Result{RequeueAfter: max(step.At.Sub(s.now), time.Millisecond)}
}

// remember changes what is known about the Action.
func (s *session) remember(change func(*known)) known {
	return s.change(types.NamespacedName{Namespace: s.a.Namespace, Name: s.a.Name}, s.a.UID, change)
}

// poll returns the time of the next look at the open run.
func (s *session) poll() time.Time { return s.remember(func(*known) {}).poll }

// setPoll sets that time; the zero time removes it.
func (s *session) setPoll(at time.Time) { s.remember(func(k *known) { k.poll = at }) }

// asked has the open run looked at now if the value of the annotation that asks for it has changed.
func (s *session) asked(value string) {
	s.remember(func(k *known) {
		if k.looked != value {
			k.looked, k.poll = value, time.Time{}
		}
	})
}

// begins reports whether this is the first attempt to begin the open run. It is true once at
// most, and never if another process has recorded the run.
func (s *session) begins() bool {
	first := s.fresh()
	s.remember(func(k *known) { k.fresh = "" })
	return first
}

// since returns the time since when nothing has called Begin for the open run.
func (s *session) since() time.Time {
	return s.remember(func(k *known) {
		if key := s.next.Run.Key; k.asked != key {
			k.asked, k.since = key, s.Now()
		}
	}).since
}

// begun takes notice of a call of Begin that has ended.
func (s *session) begun() {
	s.remember(func(k *known) { k.asked, k.since = s.next.Run.Key, s.Now() })
}

// fresh reports whether the open run has certainly not begun.
func (s *session) fresh() bool {
	k := s.remember(func(*known) {})
	return k.fresh == s.next.Run.Key && s.Now().Before(k.freshUntil)
}
