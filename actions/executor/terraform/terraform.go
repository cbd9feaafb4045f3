package terraform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/actions/executor/job"
	"github.com/pequod-io/pequod/actions/executor/terraform/runner"
	"github.com/pequod-io/pequod/api/action"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// The suffixes of the Job that applies an approved plan, and of the Secret with the input.
const (
	applySuffix = "-apply"
	inputSuffix = "-in"
)

// Executor implements [executor.Executor].
type Executor struct {
	jobs job.Jobs
	// image has the program pequod-actions, which is copied into the Pods.
	image string
}

// New returns the executor. image is that of pequod-actions, or empty if it isn't known.
func New(jobs job.Jobs, image string) *Executor { return &Executor{jobs, image} }

// Check implements [executor.Executor].
func (e *Executor) Check(request v1alpha1.ActionExecutor) []error {
	t := request.Terraform
	var found []error
	if t.Image == "" {
		found = append(found, errors.New("terraform.image: required"))
	}
	if t.Source == nil {
		found = append(found, errors.New("terraform.source: required"))
	}
	if e.image == "" {
		found = append(found, errors.New("terraform: pequod-actions runs without --runner-image, and isn't a release"))
	}
	data, err := json.Marshal(t)
	if err != nil {
		return append(found, fmt.Errorf("terraform: %w", err))
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return append(found, fmt.Errorf("terraform: %w", err))
	}
	for _, p := range action.CheckTerraform(fields) {
		found = append(found, fmt.Errorf("terraform.%s: %s", p.Path, p.Message))
	}
	return append(found, executor.Static(request)...)
}

// Plans implements [executor.Executor].
func (e *Executor) Plans() bool { return true }

// Find implements [executor.Executor].
func (e *Executor) Find(ctx context.Context, run executor.Run) (*executor.Observation, error) {
	return e.jobs.Find(ctx, run, job.Name(run, ""))
}

// modeOf returns what the first Job of a run does.
func modeOf(run executor.Run) runner.Mode {
	switch {
	case run.Purpose == v1alpha1.RunCheck:
		return runner.Check
	case run.Purpose == v1alpha1.RunDestroy:
		return runner.Destroy
	case run.Approval:
		return runner.Plan
	}
	return runner.Apply
}

// Begin implements [executor.Executor]. The Job is created last, so a run that has none has not
// begun.
func (e *Executor) Begin(ctx context.Context, run executor.Run) (*executor.Observation, error) {
	if err := e.store(ctx, run); err != nil {
		return nil, err
	}
	template, err := e.template(run, modeOf(run))
	if err != nil {
		return nil, err
	}
	return e.jobs.Create(ctx, run, job.Name(run, ""), *template, 0)
}

// Approve implements [executor.Executor].
func (e *Executor) Approve(ctx context.Context, run executor.Run, digest string) error {
	name := job.Name(run, "")
	planned, err := e.jobs.Look(ctx, run, name)
	switch {
	case err != nil:
		return err
	case planned == nil || planned.Deleted:
		return &executor.Error{Class: executor.Terminal, Message: "the plan is gone: the Job " + name + " was deleted"}
	}
	template, err := e.template(run, runner.Apply, "--plan="+name, "--digest="+digest)
	if err != nil {
		return err
	}
	_, err = e.jobs.Create(ctx, run, job.Name(run, applySuffix), *template, 0)
	return err
}

// Cancel implements [executor.Executor].
func (e *Executor) Cancel(ctx context.Context, run executor.Run) error {
	return errors.Join(e.jobs.Delete(ctx, run, job.Name(run, applySuffix)), e.jobs.Delete(ctx, run, job.Name(run, "")))
}

// result reads the Secret of a Job that has succeeded. It returns nil if there is none.
func (e *Executor) result(ctx context.Context, run executor.Run, name string) (*runner.Result, error) {
	client, err := e.jobs.Accounts.Client(run.Namespace, run.Account)
	if err != nil {
		return nil, err
	}
	secret, err := client.Secrets.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, job.Failure(err)
	}
	result, err := runner.ReadResult(secret.Data)
	if err != nil {
		return nil, &executor.Error{Class: executor.Gone, Message: "the Secret " + name + " has no result of the run"}
	}
	return &result, nil
}
