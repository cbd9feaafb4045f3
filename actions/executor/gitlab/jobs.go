package gitlab

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/source"
)

// The limits of lists of jobs.
const (
	perPage  = 50
	maxPages = 20
)

// job is a job of a pipeline.
type job struct {
	ID           int64        `json:"id"`
	Name         string       `json:"name"`
	Status       string       `json:"status"`
	AllowFailure bool         `json:"allow_failure"`
	StartedAt    *metav1.Time `json:"started_at"`
	FinishedAt   *metav1.Time `json:"finished_at"`
	Artifacts    *struct {
		Name string `json:"filename"`
		Size int64  `json:"size"`
	} `json:"artifacts_file"`
}

// progress reads the first jobs of a pipeline that has not ended. They are for people, so the
// program goes on without them if it polls the server too often.
func (e *Executor) progress(ctx context.Context, run executor.Run, p *pipeline, o *executor.Observation) error {
	jobs, _, err := e.jobs(ctx, run, p, 1, true)
	if executor.IsLater(err) {
		return nil
	}
	o.Jobs = statusJobs(jobs)
	return err
}

// results reads the jobs of pipelines that have ended. Lists that are too long are absent in
// expressions: a part of them would be a wrong answer.
func (e *Executor) results(ctx context.Context, run executor.Run, family []*pipeline, o *executor.Observation) ([]job, error) {
	var all []job
	complete := true
	for _, p := range family {
		jobs, last, err := e.jobs(ctx, run, p, maxPages, false)
		if err != nil {
			return nil, err
		}
		all = append(all, jobs...)
		complete = complete && last && len(all) <= perPage*maxPages
		if !complete {
			break
		}
	}
	o.Data = map[string]any{"outputs": map[string]any{}}
	o.Jobs, o.Artifacts = statusJobs(all), []v1alpha1.RunArtifact{}
	jobs, artifacts := []any{}, []any{}
	for _, j := range all {
		jobs = append(jobs, map[string]any{"name": j.Name, "status": j.Status})
		if a := j.Artifacts; a != nil {
			name := j.Name + "/" + a.Name
			artifacts = append(artifacts, map[string]any{"name": name, "sizeInBytes": a.Size})
			o.Artifacts = append(o.Artifacts, v1alpha1.RunArtifact{Name: source.OneLine(name, 256), SizeInBytes: a.Size})
		}
	}
	if complete {
		o.Data["jobs"], o.Data["artifacts"] = jobs, artifacts
	}
	return all, nil
}

// jobs returns the jobs of a pipeline on the first pages, and whether these are all.
func (e *Executor) jobs(ctx context.Context, run executor.Run, p *pipeline, pages int, poll bool) (all []job, complete bool, err error) {
	complete, err = e.pages(ctx, run, project(run, "/pipelines/%d/jobs?per_page=%d", p.ID, perPage), pages, poll, func(c *executor.Call) error {
		var page []job
		err := e.decode(c, &page)
		all = append(all, page...)
		return err
	})
	return all, complete, err
}

// outputs reads the outputs of a pipeline that has succeeded. Nothing reads those
// of a destroy.
func (e *Executor) outputs(ctx context.Context, run executor.Run, jobs []job, o *executor.Observation) error {
	from := run.Request.GitLabPipeline.OutputsFrom
	if from == nil || run.Purpose == v1alpha1.RunDestroy {
		return nil
	}
	fail := func(format string, args ...any) error {
		o.State, o.Message, o.Permanent = v1alpha1.RunFailed, fmt.Sprintf(format, args...), true
		return nil
	}
	id := int64(0)
	for _, j := range jobs {
		if j.Name == from.Job {
			id = max(id, j.ID) // the last one, if the job was repeated
		}
	}
	if id == 0 {
		return fail("the pipeline has no job %s, which outputsFrom names", from.Job)
	}
	c, err := e.get(ctx, run, project(run, "/jobs/%d/artifacts/%s", id, escape(from.Path)), false)
	if err != nil {
		return err
	}
	if c, err = e.server.Follow(ctx, run, c, run.Request.GitLabPipeline.CABundle); err != nil {
		return err
	}
	if c.Status == http.StatusNotFound {
		return fail("job %s has no artifact %s, which outputsFrom names", from.Job, from.Path)
	}
	if err := e.failure(c, http.StatusOK); err != nil {
		return err
	}
	values, err := executor.OutputsJSON(from.Path, c.Body)
	if err != nil {
		return fail("job %s: %v", from.Job, err)
	}
	o.Data["outputs"] = values
	return nil
}

// escape escapes the segments of a path.
func escape(path string) string {
	segments := strings.Split(path, "/")
	for i := range segments {
		segments[i] = url.PathEscape(segments[i])
	}
	return strings.Join(segments, "/")
}

// statusJobs returns jobs for a status.
func statusJobs(jobs []job) []v1alpha1.RunJob {
	all := []v1alpha1.RunJob{}
	for _, j := range jobs[:min(len(jobs), v1alpha1.MaxListed)] {
		all = append(all, v1alpha1.RunJob{
			Name: source.OneLine(j.Name, 256), Status: source.OneLine(j.Status, 64), StartedAt: j.StartedAt, CompletedAt: j.FinishedAt,
		})
	}
	return all
}
