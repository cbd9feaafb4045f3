package runs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/source"
)

// maxErrors is how many requests in a row may have an unknown outcome before the backoff stops
// growing.
const maxErrors = 10

// Key returns the key of a run. An Action that is deleted and made again has another UID, and
// a run that repeats the same inputs another attempt.
func Key(uid, inputs string, attempt int64) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%d", uid, inputs, attempt))
	return hex.EncodeToString(sum[:16])
}

// Digest returns the digest of a value, by its JSON.
func Digest(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // can't happen: v is a part of an API type
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Intend records a run that a step [Record] asks for.
func Intend(s *v1alpha1.ActionStatus, g Goal, step Step, uid string, request v1alpha1.ActionExecutor, destroy *v1alpha1.ActionDestroy, now time.Time) {
	if s.Run == nil || s.Run.Inputs != g.Inputs || step.Reason == v1alpha1.ReasonRequested || s.Run.Purpose != step.Purpose {
		s.Failures = 0
	}
	s.Runs++
	s.Run = &v1alpha1.ActionRun{
		Key: Key(uid, g.Inputs, s.Runs), Purpose: step.Purpose, Reason: step.Reason, Generation: g.Generation,
		Attempt: s.Runs, Inputs: g.Inputs, Request: request, State: v1alpha1.RunIntended, IntentAt: metav1.NewTime(now),
	}
	s.Plan, s.NextAttemptAt, s.Jobs, s.Artifacts = nil, nil, nil, nil
	if g.Requested != "" {
		s.ReconcileRequestedAt = g.Requested
	}
	if step.Purpose == v1alpha1.RunApply {
		// The inputs are cleared: from now on the world may be neither what it was nor what
		// it will be.
		s.Applied = &v1alpha1.AppliedRun{Key: s.Run.Key, Destroy: destroy}
	}
}

// Progressed records that the open run has begun and not ended.
func Progressed(s *v1alpha1.ActionStatus, state v1alpha1.RunState, id, url, message string, now time.Time) {
	r := s.Run
	if r.StartedAt == nil {
		r.StartedAt = new(metav1.NewTime(now))
	}
	r.State, r.Errors, r.Message, s.NextAttemptAt = state, 0, Message(message), nil
	if id != "" {
		r.ID = id
	}
	if url != "" {
		r.URL = url
	}
}

// Erred records a request that failed with an unknown outcome. It is repeated not before
// notBefore.
func Erred(s *v1alpha1.ActionStatus, message string, notBefore, now time.Time) {
	r := s.Run
	r.Errors = min(r.Errors+1, maxErrors)
	r.Message = Message(message)
	at := now.Add(min(time.Second<<r.Errors, time.Minute))
	if notBefore.After(at) {
		at = notBefore
	}
	s.NextAttemptAt = new(metav1.NewTime(at))
}

// Ended records the end of the open run. A run that didn't succeed is repeated after the
// backoff, and not before notBefore.
func Ended(s *v1alpha1.ActionStatus, g Goal, state v1alpha1.RunState, message string, permanent bool, notBefore, now time.Time) {
	r := s.Run
	r.State, r.FinishedAt, r.Message, r.Permanent, r.Errors = state, new(metav1.NewTime(now)), Message(message), permanent, 0
	s.Plan, s.NextAttemptAt = nil, nil
	s.History = append([]v1alpha1.ActionRevision{{
		Generation: r.Generation, Attempt: r.Attempt, Reason: r.Reason, Result: state, Message: r.Message,
		StartedAt: r.IntentAt, FinishedAt: *r.FinishedAt, URL: r.URL,
	}}, s.History...)
	s.History = s.History[:min(len(s.History), v1alpha1.MaxHistory)]
	switch {
	case r.Purpose == v1alpha1.RunCheck:
		return
	case state == v1alpha1.RunSucceeded:
		s.Failures = 0
		if r.Purpose == v1alpha1.RunApply {
			s.Applied.Inputs, s.Applied.At = r.Inputs, r.FinishedAt
			s.Applied.ID, s.Applied.Attempt, s.Applied.Outputs = r.ID, r.Attempt, g.Outputs
		}
		return
	case r.CancelReason == WhyChanged:
		return
	}
	s.Failures++
	at := now.Add(g.Retry.After(int(s.Failures)))
	if notBefore.After(at) {
		at = notBefore
	}
	s.NextAttemptAt = new(metav1.NewTime(at))
}

// Read records that the outputs of the last run were read as the goal says, or can't be because
// of err.
func Read(s *v1alpha1.ActionStatus, g Goal, err error) {
	a := s.Applied
	if err != nil {
		a.RefusedOutputs, a.OutputsError = g.Outputs, Message(err.Error())
		return
	}
	a.Outputs, a.RefusedOutputs, a.OutputsError = g.Outputs, "", ""
}

// Checked records the result of a check.
func Checked(s *v1alpha1.ActionStatus, outcome v1alpha1.CheckOutcome, message string, now time.Time) {
	s.LastCheck = &v1alpha1.CheckResult{At: metav1.NewTime(now), Result: outcome, Message: Message(message)}
}

// Message returns a text in one line that fits into a status.
func Message(text string) string { return source.OneLine(text, v1alpha1.MaxMessage) }
