package action

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/actions/runs"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// The time between two looks at a run: a tenth of its age, within these limits.
const (
	minPoll = 500 * time.Millisecond
	maxPoll = time.Minute
)

// step does the next step of the Action.
func (s *session) step(ctx context.Context) (reconcile.Result, error) {
	step := runs.Next(s.goal, &s.a.Status, s.poll(), s.now)
	switch step.Do {
	case runs.Release:
		return s.release(ctx)
	case runs.Record:
		if err := s.validate(s.a); err != nil && step.Purpose != v1alpha1.RunDestroy {
			return s.invalid(ctx, err)
		}
		s.intend(step)
		return s.write(ctx)
	case runs.GiveUp:
		s.next.Run.CancelReason = step.Why
		s.end(v1alpha1.RunFailed, step.Why, true, time.Time{})
		return s.write(ctx)
	case runs.Wait:
		return s.write(ctx)
	}
	e := s.Executors(s.a.Status.Run.Request)
	if e == nil {
		s.end(v1alpha1.RunFailed, "this version of pequod-actions has no such executor", true, time.Time{})
		return s.write(ctx)
	}
	switch step.Do {
	case runs.Dispatch:
		s.dispatch(ctx, e)
	case runs.Settle:
		s.settle(ctx, e, step.Why)
	case runs.Observe:
		o, err := e.Observe(ctx, s.run())
		s.took(ctx, o, err, false)
	case runs.Approve:
		s.approve(ctx, e)
	case runs.Cancel:
		s.cancel(ctx, e, step.Why)
	}
	return s.write(ctx)
}

// release removes the finalizer.
func (s *session) release(ctx context.Context) (reconcile.Result, error) {
	s.setPoll(time.Time{})
	before := s.a.DeepCopy()
	controllerutil.RemoveFinalizer(s.a, v1alpha1.ActionFinalizer)
	return written(s.patch(ctx, before, s.a))
}

// intend records a run in the status.
func (s *session) intend(step runs.Step) {
	request, destroy := s.a.Spec.ActionExecutor, s.a.Spec.Destroy
	switch step.Purpose {
	case v1alpha1.RunCheck:
		request = s.a.Spec.Check.ActionExecutor
	case v1alpha1.RunDestroy:
		request = destroyOf(s.a).ActionExecutor
	}
	s.setPoll(time.Time{})
	runs.Intend(s.next, s.goal, step, string(s.a.UID), request, destroy, s.now)
	if s.approval() && !s.Executors(request).Plans() {
		s.next.Plan = planOf(request)
	}
}

// approval reports whether the run of the next status needs an approval.
func (s *session) approval() bool {
	return s.a.Spec.Approval == v1alpha1.ApprovalRequired && s.next.Run.Purpose == v1alpha1.RunApply
}

// run returns the open run for its executor.
func (s *session) run() executor.Run {
	r := s.next.Run
	return executor.Run{
		Namespace: s.a.Namespace, Name: s.a.Name, Account: s.a.Spec.ServiceAccountName, Request: r.Request,
		Key: r.Key, Purpose: r.Purpose, Generation: r.Generation, Attempt: r.Attempt, ID: r.ID,
		Approval: s.approval() && r.Approved == "", IntentAt: r.IntentAt.Time, Previous: previous(s.next),
	}
}

// dispatch finds the run, or begins it.
func (s *session) dispatch(ctx context.Context, e executor.Executor) {
	o, err := e.Find(ctx, s.run())
	if err == nil && o == nil || errors.Is(err, executor.ErrUnknown) {
		o, err = e.Begin(ctx, s.run())
	}
	s.took(ctx, o, err, true)
}

// settle ends a run that should not begin, unless it has begun.
func (s *session) settle(ctx context.Context, e executor.Executor, why string) {
	o, err := e.Find(ctx, s.run())
	switch {
	case errors.Is(err, executor.ErrUnknown):
		s.next.Run.CancelReason = why
		s.end(v1alpha1.RunFailed, why+"; it is not known whether the run has begun", true, time.Time{})
	case err == nil && o == nil:
		s.next.Run.CancelReason = why
		s.end(v1alpha1.RunCancelled, why+"; the run had not begun", false, time.Time{})
	default:
		s.took(ctx, o, err, false)
	}
}

// approve passes the approval on.
func (s *session) approve(ctx context.Context, e executor.Executor) {
	digest := s.next.Plan.Digest
	switch err := e.Approve(ctx, s.run(), digest); {
	case err == nil:
		s.next.Run.State = v1alpha1.RunRunning
	case !errors.Is(err, executor.ErrNotSupported):
		s.took(ctx, nil, err, false)
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
	case errors.Is(err, executor.ErrNotSupported):
		if why == runs.WhyTimeout {
			s.end(v1alpha1.RunFailed, why+", and can't be cancelled", true, time.Time{})
			return
		}
		// It is awaited instead.
	case err != nil:
		s.took(ctx, nil, err, false)
		return
	}
	r.CancelReason = why
	r.CancelRequestedAt = timeOf(s.now)
	s.setPoll(time.Time{})
}

// took takes what an executor has returned into the status. Dispatched is set for the request
// that begins a run: if it certainly had no effect, the run has ended.
func (s *session) took(ctx context.Context, o *executor.Observation, err error, dispatched bool) {
	if err != nil {
		s.failed(err, dispatched)
		return
	}
	r := s.next.Run
	message := o.Redact(o.Message)
	runs.Progressed(s.next, r.State, o.ID, o.URL, message, s.now)
	switch o.State {
	case v1alpha1.RunRunning:
		r.State, s.next.Plan = v1alpha1.RunRunning, nil
	case v1alpha1.RunWaitingForApproval:
		r.State, s.next.Plan = v1alpha1.RunWaitingForApproval, o.Plan
	case v1alpha1.RunSucceeded:
		s.succeeded(ctx, o)
		return
	default:
		s.end(o.State, message, o.Permanent, time.Time{})
		return
	}
	age := s.now.Sub(r.IntentAt.Time)
	wait := max(min(age/10, maxPoll), minPoll)
	if o.PollAfter > 0 {
		wait = max(o.PollAfter, minPoll)
	}
	s.setPoll(s.now.Add(wait))
}

// failed takes an error of a request into the status.
func (s *session) failed(err error, dispatched bool) {
	e := &executor.Error{Message: err.Error()}
	errors.As(err, &e)
	switch {
	case e.Class == executor.Lost:
		s.next.Run.Permanent, s.next.Run.Message = true, runs.Message(e.Message)
	case e.Class == executor.Terminal:
		s.end(v1alpha1.RunFailed, e.Message, true, e.After)
	case e.Class == executor.Retry && dispatched:
		s.end(v1alpha1.RunFailed, e.Message, false, e.After)
	default:
		runs.Erred(s.next, e.Message, e.After, s.now)
		s.setPoll(s.next.NextAttemptAt.Time)
	}
}

// end records the end of the run.
func (s *session) end(state v1alpha1.RunState, message string, permanent bool, notBefore time.Time) {
	r := s.next.Run
	if r.CancelReason == runs.WhyTimeout && state == v1alpha1.RunCancelled {
		state, message = v1alpha1.RunFailed, runs.WhyTimeout
	}
	s.setPoll(time.Time{})
	runs.Ended(s.next, s.goal, state, message, permanent, notBefore, s.now)
	if r.Purpose == v1alpha1.RunCheck && state != v1alpha1.RunSucceeded {
		runs.Checked(s.next, v1alpha1.CheckFailed, message, s.now)
	}
}
