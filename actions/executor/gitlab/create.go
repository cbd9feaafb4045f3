package gitlab

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// skew is how much the clocks of GitLab and of this program may differ.
const skew = 5 * time.Minute

// maxListPages is the number of pages of pipelines that are searched.
const maxListPages = 10

// variable is a variable of a pipeline.
type variable struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Begin implements [executor.Executor].
func (e *Executor) Begin(ctx context.Context, run executor.Run) (*executor.Observation, error) {
	g := run.Request.GitLabPipeline
	create := e.create
	if g.Auth.TriggerTokenSecretRef != nil {
		create = e.trigger
	}
	c, err := create(ctx, run)
	if err != nil {
		return nil, lost(run, err)
	}
	if err := e.failure(c, http.StatusCreated); err != nil {
		return nil, lost(run, err)
	}
	var p pipeline
	if err := json.Unmarshal(c.Body, &p); err != nil || p.ID == 0 {
		return nil, lost(run, &executor.Error{Class: executor.Unknown, Message: executor.PublicURL(c.URL) + " doesn't answer with a pipeline"})
	}
	return &executor.Observation{State: v1alpha1.RunRunning, ID: fmt.Sprint(p.ID), URL: executor.PublicURL(p.WebURL), Secrets: c.Secrets}, nil
}

// variables returns the variables of a pipeline, with the key of the run.
func variables(run executor.Run) map[string]string {
	g := run.Request.GitLabPipeline
	all := map[string]string{keyVariable(g): run.Key}
	for key, value := range g.Variables {
		all[key] = string(value)
	}
	return all
}

// create sends the request that creates a pipeline with an access token. It has an array of
// variables.
func (e *Executor) create(ctx context.Context, run executor.Run) (*executor.Call, error) {
	values := variables(run)
	list := []variable{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		list = append(list, variable{key, values[key]})
	}
	body := map[string]any{"ref": run.Request.GitLabPipeline.Ref, "variables": list}
	if inputs := run.Request.GitLabPipeline.Inputs; inputs != nil {
		body["inputs"] = json.RawMessage(inputs.Raw)
	}
	return e.call(ctx, run, executor.Request{Method: http.MethodPost, URL: project(run, "/pipeline"), Body: body})
}

// trigger sends the request that creates a pipeline with a trigger token. It has an object of
// variables, and the token in its body.
func (e *Executor) trigger(ctx context.Context, run executor.Run) (*executor.Call, error) {
	g := run.Request.GitLabPipeline
	token, err := e.server.Secret(ctx, run, *g.Auth.TriggerTokenSecretRef)
	if err != nil {
		return nil, err
	}
	body := map[string]any{"token": token, "ref": g.Ref, "variables": variables(run)}
	if g.Inputs != nil {
		body["inputs"] = json.RawMessage(g.Inputs.Raw)
	}
	return e.server.Call(ctx, run, executor.Request{
		Method: http.MethodPost, URL: project(run, "/trigger/pipeline"), Body: body, Secrets: []string{token},
		HTTPRequest: &v1alpha1.HTTPRequest{URL: serverOf(run), CABundle: g.CABundle},
	})
}

// lost returns the error of a request that creates a pipeline. Without a token that reads, one that
// may have been created can't be found.
func lost(run executor.Run, err error) error {
	if run.Request.GitLabPipeline.Auth.TokenSecretRef != nil {
		return err
	}
	return executor.LostIf(err, "without tokenSecretRef the pipeline can't be found")
}

// Find implements [executor.Executor].
func (e *Executor) Find(ctx context.Context, run executor.Run) (*executor.Observation, error) {
	switch {
	case run.Fresh:
		return nil, nil
	case run.Request.GitLabPipeline.Auth.TokenSecretRef == nil:
		return nil, &executor.Error{Class: executor.Lost, Message: "it is not known whether the pipeline was created, and without tokenSecretRef it can't be found"}
	}
	unlisted := executor.Unlisted(e.now(), run.Since.Add(e.listedWithin), "pipeline")
	found, c, err := e.byKey(ctx, run)
	switch {
	case err != nil:
		return nil, err
	case found != nil:
		return e.observation(ctx, run, found, c)
	}
	return nil, unlisted
}

// byKey returns the pipeline whose name or variable has the key, or nil.
func (e *Executor) byKey(ctx context.Context, run executor.Run) (found *pipeline, last *executor.Call, err error) {
	query := url.Values{
		"source": {"api"}, "order_by": {"id"}, "sort": {"desc"}, "per_page": {"100"},
		"updated_after": {run.IntentAt.Add(-skew).UTC().Format(time.RFC3339)},
	}
	if run.Request.GitLabPipeline.Auth.TriggerTokenSecretRef != nil {
		query.Set("source", "trigger")
	}
	complete, err := e.pages(ctx, run, project(run, "/pipelines?%s", query.Encode()), maxListPages, true, func(c *executor.Call) error {
		last = c
		var page []pipeline
		if err := e.decode(c, &page); err != nil {
			return err
		}
		for i := range page {
			if found != nil {
				return nil
			}
			has, err := e.hasKey(ctx, run, &page[i])
			if err != nil {
				return err
			}
			if has {
				found = &page[i]
			}
		}
		return nil
	})
	if err == nil && found == nil && !complete {
		err = &executor.Error{Class: executor.Lost, Message: "the project has had too many pipelines since the run was recorded, so it can't be found"}
	}
	return found, last, err
}

// hasKey reports whether a pipeline has the key of the run. Its request spends the budget of polls: the
// server decides how many pipelines are listed. What is known is not asked again.
func (e *Executor) hasKey(ctx context.Context, run executor.Run, p *pipeline) (bool, error) {
	if strings.Contains(p.Name, run.Key) {
		return true, nil
	}
	at := project(run, "/pipelines/%d/variables", p.ID)
	name := keyVariable(run.Request.GitLabPipeline)
	if value, known := e.keys.Get(at + " " + name); known {
		return value == run.Key, nil
	}
	var all []variable
	if _, err := e.read(ctx, run, at, true, &all); err != nil {
		return false, err
	}
	value := ""
	for _, v := range all {
		if v.Key == name {
			value = v.Value
		}
	}
	e.keys.Add(at+" "+name, value)
	return value == run.Key, nil
}
