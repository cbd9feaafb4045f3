package job

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/api/action"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Executor implements [executor.Executor].
type Executor struct {
	executor.Unplanned
	jobs Jobs
}

// New returns the executor.
func New(jobs Jobs) *Executor { return &Executor{jobs: jobs} }

// Check implements [executor.Executor].
func (e *Executor) Check(request v1alpha1.ActionExecutor) []error {
	return executor.Static(request)
}

// Find implements [executor.Executor].
func (e *Executor) Find(ctx context.Context, run executor.Run) (*executor.Observation, error) {
	return e.jobs.Find(ctx, run, Name(run, ""))
}

// Begin implements [executor.Executor].
func (e *Executor) Begin(ctx context.Context, run executor.Run) (*executor.Observation, error) {
	t, err := action.JobTemplate(run.Request.Job)
	if err != nil {
		return nil, &executor.Error{Class: executor.Terminal, Message: "job.template: " + err.Error()}
	}
	if t.Spec.RestartPolicy == "" {
		t.Spec.RestartPolicy = corev1.RestartPolicyNever
	}
	if t.Spec.ServiceAccountName == "" {
		t.Spec.ServiceAccountName = run.Account
	}
	env, err := environment(run)
	if err != nil {
		return nil, err
	}
	for _, containers := range [][]corev1.Container{t.Spec.InitContainers, t.Spec.Containers} {
		for i := range containers {
			containers[i].Env = append(slices.Clone(env), containers[i].Env...)
		}
	}
	var repeats int32
	if n := run.Request.Job.BackoffLimit; n != nil {
		repeats = *n
	}
	return e.jobs.Create(ctx, run, Name(run, ""), *t, repeats)
}

// environment returns the variables that containers get in addition to their own.
func environment(run executor.Run) ([]corev1.EnvVar, error) {
	previous, err := json.Marshal(run.Previous)
	if err != nil {
		return nil, err
	}
	return []corev1.EnvVar{
		{Name: "PEQUOD_RUN", Value: run.Key},
		{Name: "PEQUOD_PURPOSE", Value: string(run.Purpose)},
		// Kubernetes replaces $(NAME) in values, and $$ with $.
		{Name: "PEQUOD_PREVIOUS", Value: strings.ReplaceAll(string(previous), "$", "$$")},
	}, nil
}

// Observe implements [executor.Executor].
func (e *Executor) Observe(ctx context.Context, run executor.Run) (*executor.Observation, error) {
	o, end, err := e.jobs.Observe(ctx, run, Name(run, ""))
	if err != nil {
		return nil, err
	}
	outputs, message := map[string]any{}, ""
	if end != nil {
		message = end.Message
		if object, ok := executor.Decode([]byte(message)).(map[string]any); ok {
			outputs = object
		}
	}
	o.Data = map[string]any{"outputs": outputs, "message": message}
	return o, nil
}

// Cancel implements [executor.Executor].
func (e *Executor) Cancel(ctx context.Context, run executor.Run) error {
	return e.jobs.Delete(ctx, run, Name(run, ""))
}
