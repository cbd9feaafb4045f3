package action

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/actions/redact"
	"github.com/pequod-io/pequod/actions/runs"
	"github.com/pequod-io/pequod/api/expression"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// maxOutputs is the size of all outputs in bytes.
const maxOutputs = 64 << 10

// evaluatePause is the time before the last run is read again after an error.
const evaluatePause = 10 * time.Second

// succeeded takes the outputs of a run that has succeeded. If they can't be taken, the run has
// failed: what reads them must not go on with the old ones.
func (s *session) succeeded(ctx context.Context, o *executor.Observation) {
	switch s.next.Run.Purpose {
	case v1alpha1.RunCheck:
		s.checked(s.run().Vars(o.Data))
		return
	case v1alpha1.RunDestroy:
		s.end(v1alpha1.RunSucceeded, "", false, time.Time{})
		return
	}
	if s.goal.Inputs != s.next.Run.Inputs { // the spec has changed; the next run has the outputs
		s.end(v1alpha1.RunSucceeded, "", false, time.Time{})
		return
	}
	retry, err := s.reads(ctx, o, s.run())
	switch {
	case retry: // nothing is recorded, so the run is observed again
		runs.Erred(s.next, err.Error(), time.Time{}, s.now)
		s.next.Run.State = s.a.Status.Run.State
		s.setPoll(s.next.NextAttemptAt.Time)
		return
	case err != nil:
		s.end(v1alpha1.RunFailed, err.Error(), true, time.Time{})
		return
	}
	s.end(v1alpha1.RunSucceeded, o.Message, false, time.Time{})
}

// evaluate reads the outputs of the last run again, because the spec has other ones. It begins
// nothing: a run whose server doesn't show it any more leaves the outputs as they are.
func (s *session) evaluate(ctx context.Context) {
	applied, request := s.next.Applied, s.a.Spec.ActionExecutor
	run := executor.Run{
		Namespace: s.a.Namespace, Name: s.a.Name, UID: s.a.UID, Account: s.a.Spec.ServiceAccountName, Request: request,
		Key: applied.Key, Purpose: v1alpha1.RunApply, Generation: s.goal.Generation, Attempt: applied.Attempt, ID: applied.ID,
		Previous: previous(s.next),
	}
	o, err := s.Executors(request).Observe(ctx, run)
	switch known := errorOf(err); {
	case err != nil && known.Class != executor.Gone:
		s.again(known.Message, known.After)
		return
	case err != nil:
		err = fmt.Errorf("%s; request a reconciliation to run again", known.Message)
	case o.State != v1alpha1.RunSucceeded:
		err = errors.New("the server no longer reports that the run has succeeded; request a reconciliation to run again")
	default:
		o.Publish()
		var retry bool
		if retry, err = s.reads(ctx, o, run); retry {
			s.again(err.Error(), time.Time{})
			return
		}
	}
	runs.Read(s.next, s.goal, err)
}

// reads takes the outputs of a run. If retry is set, the error may go.
func (s *session) reads(ctx context.Context, o *executor.Observation, run executor.Run) (retry bool, err error) {
	outputs, err := s.outputs(o, run.Vars(o.Data))
	if err != nil {
		return false, err
	}
	data := maps.Clone(o.Raw)
	if o.Sensitive != nil {
		data["sensitive"] = o.Sensitive
	}
	if retry, err = s.sensitive(ctx, run.Vars(data)); err == nil {
		s.next.Outputs = outputs
	}
	return retry, err
}

// again has the last run read again, at notBefore if that is later than the usual time.
func (s *session) again(why string, notBefore time.Time) {
	at := s.now.Add(evaluatePause)
	if notBefore.After(at) {
		at = notBefore
	}
	s.waits = why
	s.setPoll(at)
}

// outputs evaluates the outputs of a run.
func (s *session) outputs(o *executor.Observation, data map[string]any) (map[string]runtime.RawExtension, error) {
	outputs, size, redactor := map[string]runtime.RawExtension{}, 0, o.Redactor()
	for _, name := range slices.Sorted(maps.Keys(s.a.Spec.Outputs)) {
		value, err := expression.Eval(expression.Run(), string(s.a.Spec.Outputs[name]), data)
		if err != nil {
			return nil, fmt.Errorf("output %s: %s", name, redactor.Text(err.Error()))
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("output %s: %w", name, err)
		}
		if redactor.Leaks(string(raw)) || strings.Contains(string(raw), redact.Mark) {
			return nil, fmt.Errorf("output %s has a value of a Secret; use sensitiveOutputs", name)
		}
		if size += len(raw); size > maxOutputs {
			return nil, fmt.Errorf("the outputs have more than %d bytes", maxOutputs)
		}
		outputs[name] = runtime.RawExtension{Raw: raw}
	}
	return outputs, nil
}

// sensitive stores the sensitive outputs of a run. Retry is set if the API server doesn't take
// them now.
func (s *session) sensitive(ctx context.Context, data map[string]any) (retry bool, err error) {
	spec := s.a.Spec.SensitiveOutputs
	if spec == nil {
		return false, nil
	}
	values := map[string][]byte{}
	for name, expr := range spec.Values {
		value, err := expression.Eval(expression.Run(), string(expr), data)
		if err != nil {
			// The error may quote the value.
			return false, fmt.Errorf("sensitive output %s can't be evaluated", name)
		}
		if text, ok := value.(string); ok {
			values[name] = []byte(text)
		} else if values[name], err = json.Marshal(value); err != nil {
			return false, fmt.Errorf("sensitive output %s is not JSON", name)
		}
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.a.Namespace, Name: spec.SecretName, Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Action", Name: s.a.Name, UID: s.a.UID}},
	}, Data: values}
	if err := s.Outputs.Apply(ctx, s.a.Spec.ServiceAccountName, secret); err != nil {
		return true, fmt.Errorf("sensitive outputs: Secret %s: %w", spec.SecretName, err)
	}
	return false, nil
}

// checked takes the result of a check.
func (s *session) checked(data map[string]any) {
	outcome, message := v1alpha1.CheckInSync, ""
	if s.a.Spec.Check != nil {
		drift, err := expression.Bool(expression.Run(), string(s.a.Spec.Check.DriftWhen), data)
		switch {
		case err != nil:
			outcome, message = v1alpha1.CheckFailed, "check.driftWhen: "+err.Error()
		case drift:
			outcome, message = v1alpha1.CheckDrifted, string(s.a.Spec.Check.DriftWhen)
		}
	}
	s.end(v1alpha1.RunSucceeded, "", false, time.Time{})
	runs.Checked(s.next, outcome, message, s.now)
}

// previous returns the outputs of the last run that succeeded, for expressions.
func previous(s *v1alpha1.ActionStatus) map[string]any {
	outputs := map[string]any{}
	for name, raw := range s.Outputs {
		outputs[name] = executor.Decode(raw.Raw)
	}
	return outputs
}

func timeOf(t time.Time) *metav1.Time { return new(metav1.NewTime(t)) }
