package action

import (
	"context"
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/pequod-io/pequod/actions/runs"
	"github.com/pequod-io/pequod/api/conditions"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// The reasons of the conditions of Actions.
const (
	reasonSucceeded          = "RunSucceeded"
	reasonRunning            = "RunInProgress"
	reasonWaitingForApproval = "WaitingForApproval"
	reasonWaitingForServer   = "WaitingForServer"
	reasonRetrying           = "RetryScheduled"
	reasonPaused             = "Paused"
	reasonInvalid            = "InvalidAction"
	reasonFailed             = "RunFailed"
	reasonCancelled          = "RunCancelled"
	reasonExhausted          = "RetriesExhausted"
	reasonUnknown            = "OutcomeUnknown"
	reasonDestroying         = "Destroying"
	reasonOutputsPending     = "OutputsPending"
	reasonOutputsUnavailable = "OutputsUnavailable"
)

// invalid writes that the Action can't be executed.
func (s *session) invalid(ctx context.Context, err error) (reconcile.Result, error) {
	s.next.Phase = v1alpha1.ActionFailed
	s.stalled(reasonInvalid, err.Error())
	s.next.ObservedGeneration = s.goal.Generation
	if s.goal.Requested != "" {
		s.next.ReconcileRequestedAt = s.goal.Requested
	}
	// A change of the Action is all that helps.
	if _, err := s.store(ctx); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, nil
}

// conditions sets the phase and the conditions by the rest of the next status.
func (s *session) conditions() {
	s.next.ObservedGeneration = s.goal.Generation
	r := s.next.Run
	if s.goal.Paused {
		s.progressing(reasonPaused, "the label "+v1alpha1.LabelPaused+" stops the Action")
		return
	}
	if r == nil {
		s.next.Phase = v1alpha1.ActionPending
		s.progressing(reasonRunning, "the run has not been recorded")
		return
	}
	s.next.Phase = phase(s.goal, s.next, s.plans())
	if why := runs.Stalled(s.goal, s.next); why != "" && (r.Inputs == s.goal.Inputs || s.goal.Deleting || r.State == v1alpha1.RunIntended) && r.Purpose != v1alpha1.RunCheck {
		s.stalled(stalledReason(why, r), s.message(r.Message))
		return
	}
	if s.unread() {
		return
	}
	current := s.next.Applied != nil && s.next.Applied.Inputs == s.goal.Inputs
	repeats := r.Inputs == s.goal.Inputs && wasReady(&s.a.Status) && !r.Ended() && (r.Reason == v1alpha1.ReasonSchedule || r.Purpose == v1alpha1.RunCheck || r.Reason == v1alpha1.ReasonDrift)
	switch {
	case s.goal.Deleting:
		s.progressing(reasonDestroying, s.message(s.deletion()))
	case current || repeats: // a repetition of what succeeded leaves the Action ready
		message := "the run of these inputs has succeeded"
		if c := s.next.LastCheck; c != nil && c.Result == v1alpha1.CheckDrifted {
			message += "; the last check found drift: " + c.Message
		}
		s.state().Ready(reasonSucceeded, runs.Message(message))
	case s.next.Phase == v1alpha1.ActionWaitingForApproval:
		s.progressing(reasonWaitingForApproval, fmt.Sprintf("waits for the annotation %s=%s", v1alpha1.AnnotationApprovedPlan, s.next.Plan.Digest))
	case r.Ended() && r.State != v1alpha1.RunSucceeded && r.Inputs == s.goal.Inputs:
		s.progressing(reasonRetrying, s.message("the run failed and will be repeated"))
	default:
		s.progressing(reasonRunning, s.message("the run is in progress"))
	}
}

// deletion returns what a deleted Action waits for, until when, and how to give up.
func (s *session) deletion() string {
	text := "the deletion waits for the end of a run"
	if r := s.next.Run; r.State == v1alpha1.RunRunning || r.State == v1alpha1.RunWaitingForApproval {
		text += ", until " + runs.Deadline(s.goal, r).UTC().Format(time.RFC3339) + " at the latest"
	}
	return text + "; the label " + v1alpha1.LabelPaused + "=true ends it now, and undoes nothing"
}

// unread sets the conditions of an Action whose last run has succeeded, and whose outputs weren't
// read as the spec says. It reports whether the Action is one.
func (s *session) unread() bool {
	a := s.next.Applied
	if s.goal.Deleting || a == nil || a.Inputs != s.goal.Inputs || a.Outputs == s.goal.Outputs {
		return false
	}
	if a.RefusedOutputs == s.goal.Outputs {
		s.next.Phase = v1alpha1.ActionFailed
		s.stalled(reasonOutputsUnavailable, "the outputs have changed, and can't be read of the last run: "+a.OutputsError)
		return true
	}
	message := "the outputs have changed, and are read of the last run"
	if s.waits != "" {
		message += ": " + s.waits
	}
	s.progressing(reasonOutputsPending, message)
	return true
}

// plans reports whether the executor of the run makes a plan, which must be approved.
func (s *session) plans() bool {
	if !s.approval() {
		return false
	}
	e := s.Executors(s.next.Run.Request)
	return e != nil && e.Plans()
}

// phase returns the phase of an Action with a run, which may make a plan before an approval.
func phase(g runs.Goal, s *v1alpha1.ActionStatus, plans bool) v1alpha1.ActionPhase {
	r := s.Run
	switch {
	case g.Deleting:
		return v1alpha1.ActionDestroying
	case r.Purpose == v1alpha1.RunCheck:
		return v1alpha1.ActionCompleted
	case s.Plan != nil && r.Approved == "":
		return v1alpha1.ActionWaitingForApproval
	case r.State == v1alpha1.RunIntended:
		return v1alpha1.ActionInitializing
	case r.State == v1alpha1.RunSucceeded:
		return v1alpha1.ActionCompleted
	case r.Ended():
		return v1alpha1.ActionFailed
	case plans && r.Approved == "":
		return v1alpha1.ActionPlanning
	}
	return v1alpha1.ActionApplying
}

// stalledReason returns the reason of the condition Stalled.
func stalledReason(why string, r *v1alpha1.ActionRun) string {
	switch {
	case why == "RetriesExhausted":
		return reasonExhausted
	case why == "Cancelled":
		return reasonCancelled
	case r.State == v1alpha1.RunIntended:
		return reasonUnknown
	}
	return reasonFailed
}

// message returns a text with the message and the address of the run.
func (s *session) message(text string) string {
	r := s.next.Run
	if r.Message != "" && text != r.Message {
		text += ": " + r.Message
	}
	if text == "" {
		text = "the run has ended as " + string(r.State)
	}
	if r.URL != "" {
		text += " (" + r.URL + ")"
	}
	return text
}

// state returns what sets the conditions.
func (s *session) state() conditions.Writer {
	return conditions.Writer{To: &s.next.Conditions, Generation: s.goal.Generation, Now: s.now}
}

func (s *session) progressing(reason, message string) {
	s.state().Progressing(reason, runs.Message(message))
}

func (s *session) stalled(reason, message string) {
	s.state().Stalled(reason, runs.Message(message))
}

// wasReady reports whether a status is that of an Action that is ready.
func wasReady(s *v1alpha1.ActionStatus) bool {
	return apimeta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionReady)
}
