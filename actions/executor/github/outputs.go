package github

import (
	"context"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/source"
)

// The limits of lists. A page of jobs has all steps, so it has few jobs.
const (
	perPage  = 50
	maxPages = 20
)

// maxArchive is the size of an artifact that is read.
const maxArchive = 512 << 10

// artifactWithin is how long an artifact may be missing after the end of its run.
const artifactWithin = 30 * time.Second

// job is a job of a run.
type job struct {
	Name        string       `json:"name"`
	Status      string       `json:"status"`
	Conclusion  string       `json:"conclusion"`
	StartedAt   *metav1.Time `json:"started_at"`
	CompletedAt *metav1.Time `json:"completed_at"`
}

// artifact is an artifact of a run.
type artifact struct {
	ID      int64  `json:"id"`
	Name    string `json:"name"`
	Size    int64  `json:"size_in_bytes"`
	Expired bool   `json:"expired"`
}

// results reads the jobs and the artifacts of a run that has ended, and returns the artifacts. A
// list that is too long is absent in expressions: a part of it would be a wrong answer.
func (e *Executor) results(ctx context.Context, run executor.Run, o *executor.Observation) ([]artifact, error) {
	data := map[string]any{"outputs": map[string]any{}}
	jobs, complete, err := e.jobs(ctx, run, maxPages, false)
	if err != nil {
		return nil, err
	}
	if complete {
		data["jobs"] = jobsData(jobs)
	}
	o.Jobs = statusJobs(jobs)
	artifacts, complete, err := e.artifacts(ctx, run)
	if err != nil {
		return nil, err
	}
	if complete {
		data["artifacts"] = artifactsData(artifacts)
	}
	o.Artifacts = []v1alpha1.RunArtifact{}
	for _, a := range artifacts[:min(len(artifacts), v1alpha1.MaxListed)] {
		o.Artifacts = append(o.Artifacts, v1alpha1.RunArtifact{Name: source.OneLine(a.Name, 256), SizeInBytes: a.Size})
	}
	o.Data = data
	return artifacts, nil
}

// jobs returns the jobs of a run on the first pages, and whether these are all.
func (e *Executor) jobs(ctx context.Context, run executor.Run, pages int, poll bool) (all []job, complete bool, err error) {
	complete, err = e.pages(ctx, run, actions(run, "/runs/%s/jobs?per_page=%d", run.ID, perPage), pages, poll, func(c *executor.Call) error {
		var page struct{ Jobs []job }
		err := e.decode(c, &page)
		all = append(all, page.Jobs...)
		return err
	})
	return all, complete, err
}

// artifacts returns the artifacts of a run, and whether these are all.
func (e *Executor) artifacts(ctx context.Context, run executor.Run) (all []artifact, complete bool, err error) {
	complete, err = e.pages(ctx, run, actions(run, "/runs/%s/artifacts?per_page=%d", run.ID, perPage), maxPages, false, func(c *executor.Call) error {
		var page struct{ Artifacts []artifact }
		err := e.decode(c, &page)
		all = append(all, page.Artifacts...)
		return err
	})
	return all, complete, err
}

// pages reads the pages of a list, and reports whether it has reached the last one.
func (e *Executor) pages(ctx context.Context, run executor.Run, at string, most int, poll bool, take func(*executor.Call) error) (complete bool, err error) {
	return executor.Pages(at, most, poll, func(at string, poll bool) (*executor.Call, error) { return e.get(ctx, run, at, poll) }, take)
}

// outputs reads the outputs of a run that has succeeded. Nothing reads those
// of a destroy.
func (e *Executor) outputs(ctx context.Context, run executor.Run, r *workflowRun, artifacts []artifact, o *executor.Observation) error {
	name := run.Request.GitHubWorkflow.OutputsArtifact
	if name == "" || run.Purpose == v1alpha1.RunDestroy {
		return nil
	}
	var found artifact
	for _, a := range artifacts {
		if a.Name == name && !a.Expired && a.ID > found.ID { // the last one, if the run was repeated
			found = a
		}
	}
	switch {
	case found.Size > maxArchive:
		failed(o, fmt.Sprintf("artifact %s has %d bytes, and outputs at most %d", name, found.Size, maxArchive))
		return nil
	case found.ID == 0:
		if e.now().Before(r.UpdatedAt.Add(artifactWithin)) {
			o.State, o.Message, o.PollAfter = v1alpha1.RunRunning, "the run has ended, and its artifact "+name+" isn't listed yet", 2*time.Second
			return nil
		}
		failed(o, fmt.Sprintf("the run has no artifact %s, which outputsArtifact names", name))
		return nil
	}
	archive, err := e.download(ctx, run, actions(run, "/artifacts/%d/zip", found.ID))
	if err != nil {
		return err
	}
	values, err := executor.Outputs(archive)
	if err != nil {
		failed(o, fmt.Sprintf("artifact %s: %v", name, err))
		return nil
	}
	o.Data["outputs"] = values
	return nil
}

// download returns an artifact, which is at another host.
func (e *Executor) download(ctx context.Context, run executor.Run, at string) ([]byte, error) {
	c, err := e.get(ctx, run, at, false)
	if err != nil {
		return nil, err
	}
	if c, err = e.server.Follow(ctx, run, c, run.Request.GitHubWorkflow.CABundle); err != nil {
		return nil, err
	}
	return c.Body, e.failure(c, http.StatusOK)
}

// failed makes an observation one of a run that failed for good.
func failed(o *executor.Observation, message string) {
	o.State, o.Message, o.Permanent = v1alpha1.RunFailed, message, true
}

// statusJobs returns jobs for a status.
func statusJobs(jobs []job) []v1alpha1.RunJob {
	all := []v1alpha1.RunJob{}
	for _, j := range jobs[:min(len(jobs), v1alpha1.MaxListed)] {
		all = append(all, v1alpha1.RunJob{
			Name: source.OneLine(j.Name, 256), Status: source.OneLine(j.Status, 64), Conclusion: source.OneLine(j.Conclusion, 64),
			StartedAt: j.StartedAt, CompletedAt: j.CompletedAt,
		})
	}
	return all
}

// jobsData returns jobs for expressions.
func jobsData(jobs []job) []any {
	all := []any{}
	for _, j := range jobs {
		all = append(all, map[string]any{"name": j.Name, "status": j.Status, "conclusion": j.Conclusion})
	}
	return all
}

// artifactsData returns artifacts for expressions.
func artifactsData(artifacts []artifact) []any {
	all := []any{}
	for _, a := range artifacts {
		all = append(all, map[string]any{"name": a.Name, "sizeInBytes": a.Size})
	}
	return all
}
