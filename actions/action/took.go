package action

import (
	"context"
	"errors"
	"time"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/actions/runs"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// The time between two looks at a run: a tenth of its age, within these limits.
const (
	minPoll = 500 * time.Millisecond
	maxPoll = time.Minute
)

// took takes what an executor has returned into the status.
func (s *session) took(ctx context.Context, o *executor.Observation, err error) {
	switch known := errorOf(err); {
	case err == nil:
		s.observed(ctx, o)
	case known.Class == executor.Terminal:
		s.end(v1alpha1.RunFailed, known.Message, true, known.After)
	default:
		s.erred(err)
	}
}

// observed takes the state of a run into the status.
func (s *session) observed(ctx context.Context, o *executor.Observation) {
	o.Publish()
	r, message := s.next.Run, o.Message
	runs.Progressed(s.next, r.State, o.ID, o.URL, message, s.now)
	s.listed(o)
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

// listed takes the jobs and artifacts of a run into the status.
func (s *session) listed(o *executor.Observation) {
	if o.Jobs != nil {
		s.next.Jobs = o.Jobs[:min(len(o.Jobs), v1alpha1.MaxListed)]
	}
	if o.Artifacts != nil {
		s.next.Artifacts = o.Artifacts[:min(len(o.Artifacts), v1alpha1.MaxListed)]
	}
}

// erred has the request repeated, with the same key.
func (s *session) erred(err error) {
	known := errorOf(err)
	if known.Class == executor.Later {
		s.setPoll(known.After)
		return
	}
	runs.Erred(s.next, known.Message, known.After, s.now)
	s.setPoll(s.next.NextAttemptAt.Time)
}

// lost stops a run whose outcome is unknown and will remain so.
func (s *session) lost(message string) {
	s.next.Run.Permanent, s.next.Run.Message = true, runs.Message(message)
}

// errorOf returns what is known about an error of an executor.
func errorOf(err error) *executor.Error {
	if err == nil {
		return &executor.Error{}
	}
	known := &executor.Error{Message: err.Error()}
	errors.As(err, &known)
	return known
}

// classOf returns the class of an error of an executor.
func classOf(err error) executor.Class { return errorOf(err).Class }

// end records the end of the run.
func (s *session) end(state v1alpha1.RunState, message string, permanent bool, notBefore time.Time) {
	r := s.next.Run
	if r.CancelReason == runs.WhyTimeout && state == v1alpha1.RunCancelled {
		state, message = v1alpha1.RunFailed, runs.WhyTimeout
	}
	s.remember(func(k *known) { k.poll, k.asked = time.Time{}, "" })
	runs.Ended(s.next, s.goal, state, message, permanent, notBefore, s.now)
	if r.Purpose == v1alpha1.RunCheck && state != v1alpha1.RunSucceeded {
		runs.Checked(s.next, v1alpha1.CheckFailed, message, s.now)
	}
}
