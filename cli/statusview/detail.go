package statusview

import (
	"encoding/json"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// ActionDetail is what the view of one Action has, and lists don't.
type ActionDetail struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	Run        *Run               `json:"run,omitempty"`
	// Failures is the number of runs that failed in a row.
	Failures int32 `json:"failures,omitempty"`
	// Plan waits for an approval.
	Plan      *v1alpha1.ActionPlan   `json:"plan,omitempty"`
	Jobs      []v1alpha1.RunJob      `json:"jobs,omitempty"`
	Artifacts []v1alpha1.RunArtifact `json:"artifacts,omitempty"`
	Outputs   map[string]any         `json:"outputs,omitempty"`
	// Sensitive has the names of outputs that are only in a Secret.
	Sensitive *Sensitive `json:"sensitiveOutputs,omitempty"`
	// History has the last finished runs, newest first.
	History []v1alpha1.ActionRevision `json:"history,omitempty"`
}

// Run is the current run of an Action, or the last one. It has no request.
type Run struct {
	Attempt    int64               `json:"attempt"`
	Generation int64               `json:"generation"`
	Purpose    v1alpha1.RunPurpose `json:"purpose"`
	Reason     v1alpha1.RunReason  `json:"reason"`
	State      v1alpha1.RunState   `json:"state"`
	ID         string              `json:"id,omitempty"`
	URL        string              `json:"url,omitempty"`
	Message    string              `json:"message,omitempty"`
	IntentAt   metav1.Time         `json:"intentAt"`
	StartedAt  *metav1.Time        `json:"startedAt,omitempty"`
	FinishedAt *metav1.Time        `json:"finishedAt,omitempty"`
	// CancelRequestedAt is the time at which the server was asked to cancel the run.
	CancelRequestedAt *metav1.Time `json:"cancelRequestedAt,omitempty"`
}

// Sensitive has the names of outputs in a Secret.
type Sensitive struct {
	SecretName string   `json:"secretName"`
	Keys       []string `json:"keys"`
}

// MonitorDetail is what the view of one Monitor has, and lists don't.
type MonitorDetail struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Interval is the time between two polls.
	Interval v1alpha1.Duration `json:"interval,omitempty"`
	// RuleTimes are those of the rules, by name.
	RuleTimes map[string]RuleTimes `json:"ruleTimes,omitempty"`
	// TargetStates are those of all targets that are read.
	TargetStates []TargetState `json:"targetStates,omitempty"`
	// Firings are those whose reactions have not ended.
	Firings []v1alpha1.MonitorFiring `json:"firings,omitempty"`
}

// RuleTimes are the times of a rule.
type RuleTimes struct {
	// Since is when the rule began or ceased to hold, and FiredAt its last firing.
	Since   *metav1.Time      `json:"since,omitempty"`
	FiredAt *metav1.MicroTime `json:"firedAt,omitempty"`
}

// TargetState is the state of a target of a Monitor.
type TargetState struct {
	Name       string       `json:"name"`
	Reachable  bool         `json:"reachable"`
	Message    string       `json:"message,omitempty"`
	Failures   int32        `json:"failures,omitempty"`
	LastPollAt *metav1.Time `json:"lastPollAt,omitempty"`
	ChangedAt  *metav1.Time `json:"changedAt,omitempty"`
}

// ReceiverDetail is what the view of one Receiver has, and lists don't.
type ReceiverDetail struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Effects are reconcile, observe and apply, in the order of the spec.
	Effects []string `json:"effects,omitempty"`
	// Every is the time between two polls.
	Every v1alpha1.Duration `json:"every,omitempty"`
}

func detailAction(a *v1alpha1.Action) *ActionDetail {
	s := &a.Status
	d := &ActionDetail{
		Conditions: s.Conditions, Failures: s.Failures, Plan: s.Plan, Jobs: s.Jobs, Artifacts: s.Artifacts, History: s.History,
	}
	if r := s.Run; r != nil {
		d.Run = &Run{
			Attempt: r.Attempt, Generation: r.Generation, Purpose: r.Purpose, Reason: r.Reason, State: r.State, ID: r.ID, URL: r.URL,
			Message: r.Message, IntentAt: r.IntentAt, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt, CancelRequestedAt: r.CancelRequestedAt,
		}
	}
	for name, raw := range s.Outputs {
		if d.Outputs == nil {
			d.Outputs = map[string]any{}
		}
		var value any
		if json.Unmarshal(raw.Raw, &value) != nil {
			value = string(raw.Raw) // can't happen: the API server stores JSON
		}
		d.Outputs[name] = value
	}
	if s := a.Spec.SensitiveOutputs; s != nil {
		d.Sensitive = &Sensitive{SecretName: s.SecretName, Keys: slices.Sorted(maps.Keys(s.Values))}
	}
	return d
}

func detailMonitor(m *v1alpha1.Monitor) *MonitorDetail {
	s := &m.Status
	d := &MonitorDetail{Conditions: s.Conditions, Firings: s.Firings}
	if m.Spec.Probe.Object == nil { // an object is watched
		d.Interval = m.Spec.Interval
	}
	for _, r := range s.Rules {
		if d.RuleTimes == nil {
			d.RuleTimes = map[string]RuleTimes{}
		}
		d.RuleTimes[r.Name] = RuleTimes{Since: r.Since, FiredAt: r.FiredAt}
	}
	for _, t := range s.Targets {
		d.TargetStates = append(d.TargetStates, TargetState{
			Name: t.Name, Reachable: t.Reachable, Message: t.Message, Failures: t.Failures, LastPollAt: t.LastPollAt, ChangedAt: t.ChangedAt,
		})
	}
	return d
}

func detailReceiver(r *v1alpha1.Receiver) *ReceiverDetail {
	d := &ReceiverDetail{Conditions: r.Status.Conditions}
	if p := r.Spec.Source.Poll; p != nil {
		d.Every = p.Every
	}
	for _, do := range r.Spec.Do {
		switch {
		case do.Reconcile != nil:
			d.Effects = append(d.Effects, "reconcile")
		case do.Observe != nil:
			d.Effects = append(d.Effects, "observe")
		case do.Apply != nil:
			d.Effects = append(d.Effects, "apply")
		case do.Delete != nil:
			d.Effects = append(d.Effects, "delete")
		}
	}
	return d
}
