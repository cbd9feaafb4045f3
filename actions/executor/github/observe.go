package github

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// workflowRun is a run of a workflow.
type workflowRun struct {
	ID           int64     `json:"id"`
	DisplayTitle string    `json:"display_title"`
	Status       string    `json:"status"`
	Conclusion   string    `json:"conclusion"`
	HTMLURL      string    `json:"html_url"`
	UpdatedAt    time.Time `json:"updated_at"`
}

// Observe implements [executor.Executor].
func (e *Executor) Observe(ctx context.Context, run executor.Run) (*executor.Observation, error) {
	if run.ID == "" {
		return e.search(ctx, run)
	}
	c, err := e.get(ctx, run, actions(run, "/runs/%s", url.PathEscape(run.ID)), true)
	if err != nil {
		return nil, err
	}
	if c.Status == http.StatusNotFound {
		return nil, e.missing(ctx, run, c)
	}
	var found workflowRun
	if err := e.decode(c, &found); err != nil {
		return nil, err
	}
	return e.observation(ctx, run, &found, c.Secrets)
}

// search returns the state of a run that was dispatched and whose ID isn't known.
func (e *Executor) search(ctx context.Context, run executor.Run) (*executor.Observation, error) {
	found, secrets, err := e.byKey(ctx, run)
	switch {
	case err != nil:
		return nil, err
	case found != nil:
		return e.observation(ctx, run, found, secrets)
	case e.now().After(run.Since.Add(nameless)):
		g := run.Request.GitHubWorkflow
		return nil, &executor.Error{Class: executor.Gone, Message: fmt.Sprintf("no run of workflow %s has the key in its name: its run-name must have ${{ inputs.%s }}", g.Workflow, g.KeyInput)}
	}
	return &executor.Observation{State: v1alpha1.RunRunning, Secrets: secrets, Message: "the run is not in the list of runs yet"}, nil
}

// missing returns the error of a run that is not found. It is gone only if the workflow is still
// found: without a right, GitHub answers the same.
func (e *Executor) missing(ctx context.Context, run executor.Run, c *executor.Call) error {
	w, err := e.get(ctx, run, actions(run, "/workflows/%s", url.PathEscape(run.Request.GitHubWorkflow.Workflow)), true)
	if err != nil {
		return err
	}
	if w.Status == http.StatusOK {
		return c.Gone()
	}
	return e.failure(w, http.StatusOK)
}

// observation returns the state of a run. If it has ended, its jobs, its artifacts and its outputs
// are read.
func (e *Executor) observation(ctx context.Context, run executor.Run, r *workflowRun, secrets []string) (*executor.Observation, error) {
	o := &executor.Observation{State: v1alpha1.RunRunning, ID: strconv.FormatInt(r.ID, 10), URL: executor.PublicURL(r.HTMLURL), Secrets: secrets}
	run.ID = o.ID
	switch {
	case r.Status == "waiting", r.Status == "action_required", r.Conclusion == "action_required":
		o.Message = "waits for approval in GitHub"
		return o, e.progress(ctx, run, o)
	case r.Status != "completed":
		if err := e.force(ctx, run); err != nil {
			return nil, err
		}
		return o, e.progress(ctx, run, o)
	}
	artifacts, err := e.results(ctx, run, o)
	if err != nil {
		return nil, err
	}
	switch r.Conclusion {
	case "success", "neutral":
		o.State = v1alpha1.RunSucceeded
		return o, e.outputs(ctx, run, r, artifacts, o)
	case "cancelled":
		o.State, o.Message = v1alpha1.RunCancelled, "the workflow was cancelled"
	case "skipped":
		o.State, o.Message, o.Permanent = v1alpha1.RunFailed, "the workflow was skipped: no job has run", true
	default:
		o.State, o.Message = v1alpha1.RunFailed, "the workflow ended with "+r.Conclusion
		if i := slices.IndexFunc(o.Jobs, func(j v1alpha1.RunJob) bool { return j.Conclusion == r.Conclusion }); i >= 0 {
			o.Message += ": job " + o.Jobs[i].Name
		}
	}
	return o, nil
}

// progress reads the first jobs of a run that has not ended. They are for people, so the program
// goes on without them if it polls the server too often.
func (e *Executor) progress(ctx context.Context, run executor.Run, o *executor.Observation) error {
	jobs, _, err := e.jobs(ctx, run, 1, true)
	if executor.IsLater(err) {
		return nil
	}
	o.Jobs = statusJobs(jobs)
	return err
}

// Cancel implements [executor.Executor].
func (e *Executor) Cancel(ctx context.Context, run executor.Run) error {
	if run.ID == "" {
		o, err := e.search(ctx, run)
		if err != nil {
			return err
		}
		if o.ID == "" {
			return &executor.Error{Class: executor.Retry, Message: "the run can't be cancelled before it is in the list of runs"}
		}
		run.ID = o.ID
	}
	return e.end(ctx, run, "cancel")
}

// force ends a run whose cancellation takes too long.
func (e *Executor) force(ctx context.Context, run executor.Run) error {
	if run.CancelRequestedAt.IsZero() || e.now().Before(run.CancelRequestedAt.Add(patience)) {
		return nil
	}
	return e.end(ctx, run, "force-cancel")
}

// end asks the server to end a run. A conflict means that it has ended.
func (e *Executor) end(ctx context.Context, run executor.Run, verb string) error {
	c, err := e.call(ctx, run, executor.Request{Method: http.MethodPost, URL: actions(run, "/runs/%s/%s", url.PathEscape(run.ID), verb)})
	if err != nil {
		return err
	}
	return e.failure(c, http.StatusAccepted, http.StatusConflict)
}
