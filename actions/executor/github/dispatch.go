package github

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// skew is how much the clocks of GitHub and of this program may differ.
const skew = 5 * time.Minute

// The pages of a list of runs. A run has 12 KB in GitHub's example, and the name of a commit can be
// longer, so 100 runs would be more than the largest response. GitHub lists 1,000 runs with a filter.
const (
	runsPerPage  = 30
	maxListPages = 34
)

// remembered is how long it is remembered that a server returns no IDs. It may be upgraded.
const remembered = 24 * time.Hour

// Begin implements [executor.Executor].
func (e *Executor) Begin(ctx context.Context, run executor.Run) (*executor.Observation, error) {
	g := run.Request.GitHubWorkflow
	details := e.returnsDetails(run)
	if !details && g.KeyInput == "" {
		return nil, noDetails(run)
	}
	c, err := e.dispatch(ctx, run, details)
	if err == nil && details && c.Status == http.StatusBadRequest {
		// Older servers refuse the field. Other bad requests are refused again.
		if g.KeyInput == "" {
			return nil, noDetails(run)
		}
		details = false
		c, err = e.dispatch(ctx, run, false)
	}
	if err != nil {
		return nil, lost(run, err)
	}
	if err := e.failure(c, http.StatusOK, http.StatusNoContent); err != nil {
		return nil, lost(run, err)
	}
	o := &executor.Observation{State: v1alpha1.RunRunning, Secrets: c.Secrets}
	var begun struct {
		ID      int64  `json:"workflow_run_id"`
		HTMLURL string `json:"html_url"`
	}
	if c.Status == http.StatusOK && json.Unmarshal(c.Body, &begun) == nil && begun.ID > 0 {
		o.ID, o.URL = strconv.FormatInt(begun.ID, 10), executor.PublicURL(begun.HTMLURL)
		return o, nil
	}
	e.details.Add(serverOf(run), e.now())
	if g.KeyInput == "" {
		return nil, &executor.Error{Class: executor.Lost, Message: "the run has begun, and the server returns no ID of it; set keyInput"}
	}
	o.Message = "the run is not in the list of runs yet"
	return o, nil
}

// returnsDetails reports whether a server may return the ID of a run.
func (e *Executor) returnsDetails(run executor.Run) bool {
	since, known := e.details.Get(serverOf(run))
	return !known || e.now().Sub(since.(time.Time)) > remembered
}

// noDetails returns the error of a run that could not be found after its dispatch.
func noDetails(run executor.Run) error {
	return &executor.Error{Class: executor.Terminal, Message: fmt.Sprintf("%s returns no IDs of runs, so keyInput is required, and the run-name of workflow %s must have it",
		serverOf(run), run.Request.GitHubWorkflow.Workflow)}
}

// lost returns the error of a dispatch. Without a key in its name, a run that may have begun can't
// be found.
func lost(run executor.Run, err error) error {
	if run.Request.GitHubWorkflow.KeyInput != "" {
		return err
	}
	return executor.LostIf(err, "without keyInput the run can't be found")
}

// dispatch sends the request that begins a run.
func (e *Executor) dispatch(ctx context.Context, run executor.Run, details bool) (*executor.Call, error) {
	g := run.Request.GitHubWorkflow
	inputs := maps.Clone(g.Inputs)
	if g.KeyInput != "" {
		if inputs == nil {
			inputs = map[string]v1alpha1.RunnerInput{}
		}
		inputs[g.KeyInput] = v1alpha1.RunnerInput(run.Key)
	}
	body := map[string]any{"ref": g.Ref}
	if len(inputs) > 0 {
		body["inputs"] = inputs
	}
	if details {
		body["return_run_details"] = true
	}
	return e.call(ctx, run, executor.Request{Method: http.MethodPost, URL: actions(run, "/workflows/%s/dispatches", url.PathEscape(g.Workflow)), Body: body})
}

// Find implements [executor.Executor].
func (e *Executor) Find(ctx context.Context, run executor.Run) (*executor.Observation, error) {
	switch {
	case run.Fresh:
		return nil, nil
	case run.Request.GitHubWorkflow.KeyInput == "":
		return nil, &executor.Error{Class: executor.Lost, Message: "it is not known whether the run has begun, and without keyInput it can't be found"}
	}
	unlisted := executor.Unlisted(e.now(), run.Since.Add(e.listedWithin), "run")
	found, secrets, err := e.byKey(ctx, run)
	switch {
	case err != nil:
		return nil, err
	case found != nil:
		return e.observation(ctx, run, found, secrets)
	}
	return nil, unlisted
}

// byKey returns the run whose name has the key, or nil. Only the time limits the search, because
// the key is unique, and a filter could miss the run.
func (e *Executor) byKey(ctx context.Context, run executor.Run) (*workflowRun, []string, error) {
	query := url.Values{
		"event": {"workflow_dispatch"}, "per_page": {strconv.Itoa(runsPerPage)},
		"created": {">=" + run.IntentAt.Add(-skew).UTC().Format(time.RFC3339)},
	}
	at := actions(run, "/workflows/%s/runs?%s", url.PathEscape(run.Request.GitHubWorkflow.Workflow), query.Encode())
	var found *workflowRun
	var secrets []string
	complete, err := e.pages(ctx, run, at, maxListPages, true, func(c *executor.Call) error {
		var page struct {
			Runs []workflowRun `json:"workflow_runs"`
		}
		err := e.decode(c, &page)
		secrets = c.Secrets
		for i := range page.Runs {
			if strings.Contains(page.Runs[i].DisplayTitle, run.Key) {
				found = &page.Runs[i]
			}
		}
		return err
	})
	if err == nil && found == nil && !complete {
		err = &executor.Error{Class: executor.Lost, Message: fmt.Sprintf("workflow %s has had more runs than GitHub lists since the run was recorded, so it can't be found",
			run.Request.GitHubWorkflow.Workflow)}
	}
	return found, secrets, err
}

// decode decodes a response to a GET request.
func (e *Executor) decode(c *executor.Call, into any) error { return c.Into(into, "GitHub", e.failure) }
