package runs

import (
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Goal is the state that an Action asks for.
type Goal struct {
	Generation int64
	// Inputs is the digest of what a run does. Runs with the same inputs don't repeat.
	Inputs string
	// Outputs is the digest of what is read of a run. Other outputs are read of the last run.
	Outputs string
	// Requested is the value of the annotation that requests a reconciliation.
	Requested string
	// ApprovedPlan is the digest of the plan that was approved.
	ApprovedPlan string
	// Cancel cancels a run whose inputs have changed.
	Cancel           bool
	Deleting, Paused bool
	Destroy          Destroy
	// Every is the time between runs, and CheckEvery the time between checks; 0 means never.
	Every, CheckEvery time.Duration
	// Drift runs the Action again after a check that found drift.
	Drift   bool
	Timeout time.Duration
	Retry   Retry
}

// Destroy is the treatment of an Action that is deleted.
type Destroy int

// The kinds of destruction.
const (
	DestroyNothing Destroy = iota // only cancel the run that is open
	DestroyRun                    // undo the last run
	DestroySkip                   // not even cancel
)

// Retry is when failed runs are repeated.
type Retry struct {
	Attempts     int // repetitions of a failed run
	Initial, Max time.Duration
	Factor       int
}

// After returns the time between a failure and the repetition.
func (r Retry) After(failures int) time.Duration {
	wait := r.Initial
	for ; failures > 1 && wait < r.Max; failures-- {
		wait *= time.Duration(r.Factor)
		if r.Factor == 1 {
			break
		}
	}
	return min(wait, r.Max)
}

// Verb is the kind of a step.
type Verb int

// The verbs.
const (
	// Wait does nothing until At, or until something changes if At is zero.
	Wait Verb = iota
	// Record writes the intent of a run.
	Record
	// Dispatch finds the open run, or begins it if it is not found.
	Dispatch
	// Settle finds the open run, and never begins it.
	Settle
	// Observe reads the state of the open run.
	Observe
	// Approve passes the approval of the plan on.
	Approve
	// Cancel asks the server to cancel the open run.
	Cancel
	// GiveUp ends the open run as failed, without knowing its end.
	GiveUp
	// Evaluate reads the outputs of the last run again.
	Evaluate
	// Release removes the finalizer.
	Release
)

// Step is the next thing to do.
type Step struct {
	Do Verb
	// At is the end of a Wait.
	At time.Time
	// Purpose and Reason are those of a run to record.
	Purpose v1alpha1.RunPurpose
	Reason  v1alpha1.RunReason
	// Why explains Cancel and GiveUp.
	Why string
}

// The reasons to cancel a run.
const (
	whyDeleted = "the Action is deleted"
	WhyChanged = "the inputs have changed"
	WhyTimeout = "the run took longer than its timeout"
)

// Next returns the next step. poll is the time of the next look at the open run.
func Next(g Goal, s *v1alpha1.ActionStatus, poll, now time.Time) Step {
	switch {
	case g.Deleting && (g.Paused || g.Destroy == DestroySkip):
		return Step{Do: Release}
	case g.Paused:
		return Step{}
	case s.Run != nil && !s.Run.Ended():
		return open(g, s, poll, now)
	case g.Deleting:
		return ending(g, s, now)
	}
	return idle(g, s, poll, now)
}

// open returns the step of an Action with an open run.
func open(g Goal, s *v1alpha1.ActionStatus, poll, now time.Time) Step {
	r := s.Run
	why := obsolete(g, r, now)
	if r.State == v1alpha1.RunIntended {
		return intended(g, s, why, poll, now)
	}
	if r.CancelRequestedAt != nil && now.After(Deadline(g, r)) {
		return Step{Do: GiveUp, Why: r.CancelReason + ", and it did not end"}
	}
	if why != "" && r.CancelRequestedAt == nil && !before(s, now) {
		return Step{Do: Cancel, Why: why}
	}
	// A run that was cancelled is not approved, although it still waits.
	if r.State == v1alpha1.RunWaitingForApproval && r.CancelRequestedAt == nil && approved(g, s) && !before(s, now) {
		return Step{Do: Approve}
	}
	if now.Before(poll) {
		return Step{At: poll}
	}
	return Step{Do: Observe}
}

// Deadline returns when an open run that has begun is cancelled or, if it was, given up.
func Deadline(g Goal, r *v1alpha1.ActionRun) time.Time {
	if r.CancelRequestedAt != nil {
		return r.CancelRequestedAt.Add(g.Timeout)
	}
	return r.IntentAt.Add(g.Timeout)
}

// intended returns the step of an Action with a run that may have begun.
func intended(g Goal, s *v1alpha1.ActionStatus, why string, poll, now time.Time) Step {
	r := s.Run
	if s.Plan != nil && r.Approved == "" { // without an approval it has not begun
		switch {
		case r.Inputs != g.Inputs:
			return Step{Do: GiveUp, Why: WhyChanged}
		case why != "":
			return Step{Do: GiveUp, Why: why}
		case approved(g, s):
			return Step{Do: Approve}
		}
		return Step{At: r.IntentAt.Add(g.Timeout)}
	}
	if r.Permanent { // whether it has begun is not known, and will not be
		if g.Deleting || requested(g, s) {
			return Step{Do: GiveUp, Why: "its outcome is unknown"}
		}
		return Step{}
	}
	switch {
	case waits(s, now):
		return Step{At: s.NextAttemptAt.Time}
	case now.Before(poll):
		return Step{At: poll}
	case why != "":
		return Step{Do: Settle, Why: why}
	}
	return Step{Do: Dispatch}
}

// obsolete returns why a run should not continue, or "".
func obsolete(g Goal, r *v1alpha1.ActionRun, now time.Time) string {
	switch {
	case g.Deleting && r.Purpose != v1alpha1.RunDestroy:
		return whyDeleted
	case r.Purpose == v1alpha1.RunApply && r.Inputs != g.Inputs && (g.Cancel || r.State == v1alpha1.RunWaitingForApproval):
		return WhyChanged
	case now.After(r.IntentAt.Add(g.Timeout)):
		return WhyTimeout
	}
	return ""
}

func approved(g Goal, s *v1alpha1.ActionStatus) bool {
	return s.Plan != nil && s.Plan.Digest == g.ApprovedPlan && s.Run.Approved != s.Plan.Digest
}

func requested(g Goal, s *v1alpha1.ActionStatus) bool {
	return g.Requested != "" && g.Requested != s.ReconcileRequestedAt
}

// before reports whether the next attempt is due later.
func before(s *v1alpha1.ActionStatus, now time.Time) bool {
	return s.NextAttemptAt != nil && now.Before(s.NextAttemptAt.Time)
}

// waits reports whether a run that failed, or may not have begun, is tried again later. It is tried now if
// the clock was ahead when it was recorded.
func waits(s *v1alpha1.ActionStatus, now time.Time) bool {
	r := s.Run
	return before(s, now) && !ahead(r.IntentAt.Time, now) && (r.FinishedAt == nil || !ahead(r.FinishedAt.Time, now))
}

// ahead reports whether a time was recorded by a clock that was ahead, and was set back since. The clocks of
// replicas differ by less.
func ahead(recorded, now time.Time) bool { return recorded.After(now.Add(time.Minute)) }

// ending returns the step of a deleted Action without an open run.
func ending(g Goal, s *v1alpha1.ActionStatus, now time.Time) Step {
	r := s.Run
	record := Step{Do: Record, Purpose: v1alpha1.RunDestroy, Reason: v1alpha1.ReasonDestroy}
	switch {
	case g.Destroy == DestroyNothing || s.Applied == nil:
		return Step{Do: Release}
	case r == nil || r.Purpose != v1alpha1.RunDestroy || requested(g, s):
		return record
	case r.State == v1alpha1.RunSucceeded:
		return Step{Do: Release}
	case r.Generation != g.Generation: // the destroy has changed
		return record
	case r.Permanent || r.State == v1alpha1.RunCancelled:
		return Step{}
	case waits(s, now):
		return Step{At: s.NextAttemptAt.Time}
	}
	return record
}

// idle returns the step of an Action without an open run.
func idle(g Goal, s *v1alpha1.ActionStatus, poll, now time.Time) Step {
	apply := func(reason v1alpha1.RunReason) Step {
		return Step{Do: Record, Purpose: v1alpha1.RunApply, Reason: reason}
	}
	r := s.Run
	switch {
	case requested(g, s):
		return apply(v1alpha1.ReasonRequested)
	case r == nil || s.Applied == nil:
		return apply(v1alpha1.ReasonSpec)
	case s.Applied.Inputs == g.Inputs && s.Applied.Outputs != g.Outputs && s.Applied.RefusedOutputs != g.Outputs:
		if now.Before(poll) {
			return Step{At: poll}
		}
		return Step{Do: Evaluate}
	case s.Applied.Inputs == g.Inputs:
		return periodic(g, s, now)
	case r.Inputs != g.Inputs || r.CancelReason == WhyChanged:
		return apply(v1alpha1.ReasonSpec)
	case Stalled(g, s) != "":
		return Step{}
	case waits(s, now):
		return Step{At: s.NextAttemptAt.Time}
	}
	return apply(v1alpha1.ReasonRetry)
}

// Stalled returns why an Action whose last run failed doesn't continue by itself, or "".
func Stalled(g Goal, s *v1alpha1.ActionStatus) string {
	r := s.Run
	switch {
	case r == nil || r.State == v1alpha1.RunSucceeded:
		return ""
	case r.Permanent && (r.Ended() || r.State == v1alpha1.RunIntended):
		return "Permanent"
	case r.State == v1alpha1.RunCancelled && r.CancelReason == "":
		return "Cancelled"
	case r.Ended() && r.Purpose == v1alpha1.RunApply && int(s.Failures) > g.Retry.Attempts:
		return "RetriesExhausted"
	}
	return ""
}

// periodic returns the step of an Action whose inputs were run.
func periodic(g Goal, s *v1alpha1.ActionStatus, now time.Time) Step {
	if s.Applied.At == nil {
		return Step{}
	}
	last := s.Applied.At.Time
	if ahead(last, now) {
		last = time.Time{} // it was before each check
	}
	checked := last
	if c := s.LastCheck; c != nil && !c.At.Time.Before(last) && !ahead(c.At.Time, now) {
		if c.Result == v1alpha1.CheckDrifted && g.Drift {
			return Step{Do: Record, Purpose: v1alpha1.RunApply, Reason: v1alpha1.ReasonDrift}
		}
		checked = c.At.Time
	}
	var next Step
	consider := func(every time.Duration, since time.Time, record Step) {
		switch at := since.Add(every); {
		case every == 0 || next.Do == Record:
		case !now.Before(at):
			next = record
		case next.At.IsZero() || at.Before(next.At):
			next.At = at
		}
	}
	consider(g.Every, last, Step{Do: Record, Purpose: v1alpha1.RunApply, Reason: v1alpha1.ReasonSchedule})
	consider(g.CheckEvery, checked, Step{Do: Record, Purpose: v1alpha1.RunCheck, Reason: v1alpha1.ReasonCheck})
	return next
}
