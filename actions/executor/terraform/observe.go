package terraform

import (
	"context"
	"encoding/json"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/actions/executor/job"
	"github.com/pequod-io/pequod/actions/executor/terraform/runner"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/source"
)

// Observe implements [executor.Executor].
func (e *Executor) Observe(ctx context.Context, run executor.Run) (*executor.Observation, error) {
	name := job.Name(run, "")
	first, err := e.jobs.Look(ctx, run, name)
	if err != nil {
		return nil, err
	}
	if first == nil || first.State == v1alpha1.RunSucceeded { // there may be a second Job
		second, err := e.jobs.Look(ctx, run, job.Name(run, applySuffix))
		if err != nil {
			return nil, err
		}
		if second != nil {
			return e.ended(ctx, run, job.Name(run, applySuffix), second, first)
		}
	}
	if first == nil {
		return job.Missing(run, name)
	}
	return e.ended(ctx, run, name, first)
}

// ended returns the state of a run by its last Job. If it has ended, all of its Jobs expire.
func (e *Executor) ended(ctx context.Context, run executor.Run, name string, last *job.Seen, earlier ...*job.Seen) (*executor.Observation, error) {
	o := last.Observation
	o.ID = name
	switch o.State {
	case v1alpha1.RunFailed:
		if end := last.End; end != nil && end.Message != "" {
			o.Message = executor.Message(end.Message)
			o.Permanent = o.Permanent || end.ExitCode == runner.ExitPermanent
		}
	case v1alpha1.RunSucceeded:
		if waits, err := e.succeeded(ctx, run, name, last); err != nil || waits {
			return o, err
		}
	default:
		return o, nil
	}
	for _, seen := range append(earlier, last) {
		if seen == nil {
			continue
		}
		if err := e.jobs.Expire(ctx, run, seen); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// succeeded takes the result of a Job that has succeeded. It reports whether the run goes on.
func (e *Executor) succeeded(ctx context.Context, run executor.Run, name string, seen *job.Seen) (waits bool, err error) {
	o := seen.Observation
	o.Message = source.OneLine(seen.End.Message, v1alpha1.MaxMessage)
	if run.Purpose == v1alpha1.RunDestroy {
		return false, nil
	}
	result, err := e.result(ctx, run, name)
	switch {
	case err != nil:
		return false, err
	case seen.Deleted && (result == nil || result.Digest != ""):
		o.State, o.Message = v1alpha1.RunRunning, "the Job is being deleted"
		return true, nil
	case result == nil:
		return false, &executor.Error{Class: executor.Gone, Message: "the Secret " + name + " with the result is gone"}
	case result.Digest != "" && run.Approved == result.Digest:
		return false, &executor.Error{Class: executor.Gone, Message: "the Job " + name + applySuffix + " is gone: it was deleted, or has expired"}
	case result.Digest != "":
		o.State = v1alpha1.RunWaitingForApproval
		o.Plan = &v1alpha1.ActionPlan{Digest: result.Digest, Summary: result.Summary}
		return true, nil
	}
	o.Data = map[string]any{"outputs": values(result.Outputs), "plan": map[string]any{
		"changes": result.Changes.Total(), "create": result.Changes.Create, "update": result.Changes.Update,
		"delete": result.Changes.Delete, "outputs": result.Changes.Outputs, "summary": result.Summary,
	}}
	o.Sensitive = values(result.Sensitive)
	o.Values = runner.Strings(o.Sensitive)
	return false, nil
}

// values decodes outputs for expressions.
func values(outputs map[string]json.RawMessage) map[string]any {
	decoded := map[string]any{}
	for name, value := range outputs {
		decoded[name] = executor.Decode(value)
	}
	return decoded
}
