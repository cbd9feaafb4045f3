package gitlab

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// maxDepth is how deep child pipelines are nested: GitLab allows two levels.
const maxDepth = 2

// pipeline is a pipeline.
type pipeline struct {
	ID      int64  `json:"id"`
	Project int64  `json:"project_id"`
	Name    string `json:"name"`
	Status  string `json:"status"`
	WebURL  string `json:"web_url"`
}

// bridge is a job that has created another pipeline.
type bridge struct {
	Name         string    `json:"name"`
	AllowFailure bool      `json:"allow_failure"`
	Downstream   *pipeline `json:"downstream_pipeline"`
}

// Observe implements [executor.Executor].
func (e *Executor) Observe(ctx context.Context, run executor.Run) (*executor.Observation, error) {
	c, err := e.get(ctx, run, project(run, "/pipelines/%s", url.PathEscape(run.ID)), true)
	if err != nil {
		return nil, err
	}
	if c.Status == http.StatusNotFound {
		return nil, e.missing(ctx, run, c)
	}
	var found pipeline
	if err := e.decode(c, &found); err != nil {
		return nil, err
	}
	return e.observation(ctx, run, &found, c)
}

// missing returns the error of a pipeline that is not found. It is gone only if the project still
// shows pipelines: without a right, GitLab answers the same.
func (e *Executor) missing(ctx context.Context, run executor.Run, c *executor.Call) error {
	all, err := e.get(ctx, run, project(run, "/pipelines?per_page=1"), false)
	if err != nil {
		return err
	}
	if all.Status == http.StatusOK {
		return c.Gone()
	}
	return e.failure(all, http.StatusOK)
}

// observation returns the state of a pipeline. If it has ended, its child pipelines, its jobs and
// its outputs are read.
func (e *Executor) observation(ctx context.Context, run executor.Run, p *pipeline, c *executor.Call) (*executor.Observation, error) {
	o := &executor.Observation{State: v1alpha1.RunRunning, ID: fmt.Sprint(p.ID), URL: executor.PublicURL(p.WebURL), Secrets: c.Secrets}
	if !conclude(p, o) {
		return o, e.progress(ctx, run, p, o)
	}
	family := []*pipeline{p}
	if o.State == v1alpha1.RunSucceeded {
		children, err := e.children(ctx, run, p, o, maxDepth)
		if err != nil {
			return nil, err
		}
		family = append(family, children...)
	}
	jobs, err := e.results(ctx, run, family, o)
	if err != nil {
		return nil, err
	}
	switch o.State {
	case v1alpha1.RunSucceeded:
		return o, e.outputs(ctx, run, jobs, o)
	case v1alpha1.RunFailed:
		for _, j := range jobs {
			if j.Status == "failed" && !j.AllowFailure {
				o.Message += ": job " + j.Name
				break
			}
		}
	}
	return o, nil
}

// conclude sets the state of a run by the status of its pipeline, and reports whether that has
// ended.
func conclude(p *pipeline, o *executor.Observation) bool {
	switch p.Status {
	case "success":
		o.State = v1alpha1.RunSucceeded
	case "failed":
		o.State, o.Message = v1alpha1.RunFailed, "the pipeline has failed"
	case "canceled":
		o.State, o.Message = v1alpha1.RunCancelled, "the pipeline was cancelled"
	case "skipped":
		o.State, o.Message, o.Permanent = v1alpha1.RunFailed, "the pipeline was skipped: no job has run", true
	case "manual":
		o.Message = "waits for a manual job in GitLab"
		return false
	case "waiting_for_resource":
		o.Message = "waits for a resource in GitLab"
		return false
	case "scheduled":
		o.Message = "waits for a delayed job in GitLab"
		return false
	default: // created, preparing, pending, running, canceling, and what GitLab adds
		return false
	}
	return true
}

// maxChildren is how many pipelines one may create. The lists of jobs of each are read.
const maxChildren = 100

// children returns the child pipelines of one that has succeeded. Its status needn't have theirs.
// The first one that has not succeeded decides the state of the run.
func (e *Executor) children(ctx context.Context, run executor.Run, p *pipeline, o *executor.Observation, depth int) ([]*pipeline, error) {
	var bridges []bridge
	complete, err := e.pages(ctx, run, project(run, "/pipelines/%d/bridges?per_page=100", p.ID), maxPages, false, func(c *executor.Call) error {
		var page []bridge
		err := e.decode(c, &page)
		bridges = append(bridges, page...)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case !complete || len(bridges) > maxChildren: // one of the rest may have failed
		o.State, o.Message, o.Permanent = v1alpha1.RunFailed, fmt.Sprintf("the pipeline creates more than %d other pipelines", min(len(bridges), maxChildren)), true
		return nil, nil
	}
	var all []*pipeline
	for _, b := range bridges {
		child := b.Downstream
		if child == nil || child.Project != p.Project { // that of another project is not a child
			continue
		}
		all = append(all, child)
		of := &executor.Observation{State: v1alpha1.RunRunning}
		done := conclude(child, of)
		switch {
		case done && (of.State == v1alpha1.RunSucceeded || b.AllowFailure):
			if depth > 1 {
				more, err := e.children(ctx, run, child, o, depth-1)
				if err != nil {
					return nil, err
				}
				all = append(all, more...)
			}
		case o.State == v1alpha1.RunSucceeded:
			o.State, o.Message, o.Permanent = of.State, fmt.Sprintf("child pipeline %s (%s) has the status %s", b.Name, executor.PublicURL(child.WebURL), child.Status), of.Permanent
		}
	}
	return all, nil
}

// Cancel implements [executor.Executor]. GitLab answers alike if the pipeline has ended.
func (e *Executor) Cancel(ctx context.Context, run executor.Run) error {
	if run.Request.GitLabPipeline.Auth.TokenSecretRef == nil {
		return executor.ErrNotSupported
	}
	c, err := e.call(ctx, run, executor.Request{Method: http.MethodPost, URL: project(run, "/pipelines/%s/cancel", url.PathEscape(run.ID))})
	if err != nil {
		return err
	}
	return e.failure(c, http.StatusOK, http.StatusCreated)
}
