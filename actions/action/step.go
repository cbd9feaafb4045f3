package action

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/actions/runs"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/reconciling"
)

// step does a step of the Action.
func (s *session) step(ctx context.Context, step runs.Step) (reconcile.Result, error) {
	switch {
	case step.Do == runs.Release:
		return s.release(ctx)
	case step.Do == runs.Evaluate, step.Do == runs.Record && step.Purpose != v1alpha1.RunDestroy:
		if err := s.validate(s.a); err != nil {
			return s.invalid(ctx, err)
		}
	}
	if _, outside := s.server(step); outside && step.Do != runs.Record {
		s.outside(ctx, step)
	} else {
		s.do(ctx, step)
	}
	return s.write(ctx)
}

// outside does a step at a server. Other Actions have the turn meanwhile.
func (s *session) outside(ctx context.Context, step runs.Step) {
	s.turns.end()
	defer s.turns.take()
	s.do(ctx, step)
}

// do does a step that changes nothing but the status to write, and what is at the server.
func (s *session) do(ctx context.Context, step runs.Step) {
	switch step.Do {
	case runs.Record:
		s.intend(step)
		return
	case runs.GiveUp:
		s.next.Run.CancelReason = step.Why
		s.end(v1alpha1.RunFailed, step.Why, true, time.Time{})
		return
	case runs.Evaluate:
		s.evaluate(ctx)
		return
	case runs.Wait:
		return
	}
	e := s.Executors(s.a.Status.Run.Request)
	if e == nil {
		s.end(v1alpha1.RunFailed, "this version of pequod-actions has no such executor", true, time.Time{})
		return
	}
	switch step.Do {
	case runs.Dispatch:
		s.dispatch(ctx, e)
	case runs.Settle:
		s.settle(ctx, e, step.Why)
	case runs.Observe:
		s.observe(ctx, e)
	case runs.Approve:
		s.approve(ctx, e)
	case runs.Cancel:
		s.cancel(ctx, e, step.Why)
	}
}

// release removes the finalizer. The Action is not forgotten before the cache shows that it is gone: an
// older state of it would have the request to undo it sent again.
func (s *session) release(ctx context.Context) (reconcile.Result, error) {
	before := s.a.DeepCopy()
	controllerutil.RemoveFinalizer(s.a, v1alpha1.ActionFinalizer)
	return reconciling.Written(reconcile.Result{}, s.patch(ctx, before, s.a))
}

// intend records a run in the status.
func (s *session) intend(step runs.Step) {
	request, destroy := s.request(step.Purpose), specifiedDestroy(&s.a.Spec)
	s.setPoll(time.Time{})
	runs.Intend(s.next, s.goal, step, string(s.a.UID), request, destroy, s.now)
	s.recorded = true
	if s.approval() && !s.Executors(request).Plans() {
		s.next.Plan = planOf(request)
	}
}

// request returns the request of the next run for a purpose.
func (s *session) request(purpose v1alpha1.RunPurpose) v1alpha1.ActionExecutor {
	switch purpose {
	case v1alpha1.RunCheck:
		return s.a.Spec.Check.For(s.a.Spec.ActionExecutor)
	case v1alpha1.RunDestroy:
		return destroyOf(s.a).ActionExecutor
	}
	return s.a.Spec.ActionExecutor
}

// approval reports whether the run of the next status needs an approval.
func (s *session) approval() bool {
	return s.a.Spec.Approval == v1alpha1.ApprovalRequired && s.next.Run.Purpose == v1alpha1.RunApply
}

// run returns the open run for its executor.
func (s *session) run() executor.Run {
	r := s.next.Run
	return executor.Run{
		Namespace: s.a.Namespace, Name: s.a.Name, UID: s.a.UID, Account: s.a.Spec.ServiceAccountName, Request: r.Request,
		Key: r.Key, Purpose: r.Purpose, Generation: r.Generation, Attempt: r.Attempt, ID: r.ID,
		Approval: s.approval() && r.Approved == "", Approved: r.Approved, IntentAt: r.IntentAt.Time, CancelRequestedAt: ptr.Deref(r.CancelRequestedAt, metav1.Time{}).Time,
		Fresh: s.fresh(), Since: s.since(), Previous: previous(s.next),
	}
}

// dispatch finds the run, or begins it. As long as an earlier request may have begun it, it
// keeps its key whatever fails: with another key it would run twice.
func (s *session) dispatch(ctx context.Context, e executor.Executor) {
	run := s.run()
	o, err := e.Find(ctx, run)
	missing := errors.Is(err, executor.ErrUnknown)
	if o != nil || err != nil && !missing {
		s.found(ctx, o, err)
		return
	}
	unknown := missing || run.Fresh // a fresh run may not have been looked for
	first := s.begins()
	o, err = e.Begin(ctx, s.run())
	s.begun()
	switch class := classOf(err); {
	case err == nil:
		s.observed(ctx, o)
	case class == executor.Lost:
		s.lost(err.Error())
	case first && class == executor.Retry:
		known := errorOf(err)
		s.end(v1alpha1.RunFailed, known.Message, false, known.After)
	case class == executor.Terminal && (first || !unknown || errorOf(err).Unsent):
		s.took(ctx, nil, err)
	case class == executor.Terminal: // repeating it doesn't help
		s.lost(err.Error() + "; an earlier request may have begun the run")
	default:
		s.erred(err)
	}
}

// found takes the result of a search for a run that may have begun. An error says nothing about
// it, so the search is repeated, unless the error is one that remains, and the run has not begun: this
// process knows so, or no request may be sent to the server.
func (s *session) found(ctx context.Context, o *executor.Observation, err error) {
	switch class := classOf(err); {
	case class == executor.Lost:
		s.lost(err.Error())
	case err != nil && !(class == executor.Terminal && (s.fresh() || errorOf(err).Unsent)):
		s.erred(err)
	default:
		s.took(ctx, o, err)
	}
}

// settle ends a run that should not begin, unless it has begun.
func (s *session) settle(ctx context.Context, e executor.Executor, why string) {
	var o *executor.Observation
	var err error
	if !s.fresh() {
		o, err = e.Find(ctx, s.run())
	}
	switch {
	case errors.Is(err, executor.ErrUnknown):
		s.next.Run.CancelReason = why
		s.end(v1alpha1.RunFailed, why+"; it is not known whether the run has begun", true, time.Time{})
	case err == nil && o == nil:
		s.next.Run.CancelReason = why
		s.end(v1alpha1.RunCancelled, why+"; the run had not begun", false, time.Time{})
	case classOf(err) == executor.Terminal && !errorOf(err).Unsent, classOf(err) == executor.Lost:
		s.lost(why + "; it is not known whether the run has begun: " + err.Error())
	default:
		s.found(ctx, o, err)
	}
}

// observe looks at the run. It goes on at the server whatever error there is, also if the
// credentials are refused, so another run must not begin.
func (s *session) observe(ctx context.Context, e executor.Executor) {
	switch o, err := e.Observe(ctx, s.run()); {
	case err == nil:
		s.observed(ctx, o)
	case classOf(err) == executor.Gone:
		s.end(v1alpha1.RunFailed, errorOf(err).Message, true, time.Time{})
	default:
		s.erred(err)
	}
}

// approve passes the approval on.
func (s *session) approve(ctx context.Context, e executor.Executor) {
	digest := s.next.Plan.Digest
	switch err := e.Approve(ctx, s.run(), digest); {
	case err == nil:
		s.next.Run.State = v1alpha1.RunRunning
	case !errors.Is(err, executor.ErrNotSupported):
		s.took(ctx, nil, err)
		return
	}
	s.next.Run.Approved, s.next.Plan = digest, nil
	s.setPoll(time.Time{})
}

// cancel asks for the end of the run.
func (s *session) cancel(ctx context.Context, e executor.Executor, why string) {
	r := s.next.Run
	err := e.Cancel(ctx, s.run())
	switch {
	case errors.Is(err, executor.ErrNotSupported), classOf(err) == executor.Terminal:
		if why == runs.WhyTimeout {
			s.end(v1alpha1.RunFailed, why+", and can't be cancelled", true, time.Time{})
			return
		}
		// It is awaited instead: no other run may begin while it is open.
	case err != nil:
		s.erred(err)
		return
	}
	r.CancelReason = why
	r.CancelRequestedAt = timeOf(s.now)
	s.setPoll(time.Time{})
}
