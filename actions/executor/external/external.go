// Package external is the executor that begins runs at a server of the executor protocol,
// version 1. docs/executors.md describes the protocol.
package external

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/source"
)

// maxSummary is the size of the summary of a plan in bytes.
const maxSummary = 4096

// Executor implements [executor.Executor].
type Executor struct{ server executor.Server }

// New returns the executor.
func New(server executor.Server) *Executor { return &Executor{server} }

// begin is the body of a request that begins a run.
type begin struct {
	Namespace  string              `json:"namespace"`
	Name       string              `json:"name"`
	Purpose    v1alpha1.RunPurpose `json:"purpose"`
	Generation int64               `json:"generation"`
	Attempt    int64               `json:"attempt"`
	Inputs     json.RawMessage     `json:"inputs,omitempty"`
	Previous   map[string]any      `json:"previous,omitempty"`
	Approval   bool                `json:"approval,omitempty"`
}

// state is the body of each response.
type state struct {
	Phase     string               `json:"phase"`
	Message   string               `json:"message"`
	URL       string               `json:"url"`
	Permanent bool                 `json:"permanent"`
	Outputs   map[string]any       `json:"outputs"`
	Plan      *v1alpha1.ActionPlan `json:"plan"`
}

// Check implements [executor.Executor].
func (e *Executor) Check(v1alpha1.ActionExecutor) []error { return nil }

// Plans implements [executor.Executor].
func (e *Executor) Plans() bool { return true }

// Find implements [executor.Executor].
func (e *Executor) Find(ctx context.Context, run executor.Run) (*executor.Observation, error) {
	if run.Fresh {
		return nil, nil
	}
	c, err := e.call(ctx, run, http.MethodGet, "/v1/runs/"+run.Key, nil)
	if err != nil {
		return nil, err
	}
	if c.Status == http.StatusNotFound {
		return nil, nil
	}
	return observation(c)
}

// Begin implements [executor.Executor].
func (e *Executor) Begin(ctx context.Context, run executor.Run) (*executor.Observation, error) {
	path := "/v1/runs/"
	if run.Purpose == v1alpha1.RunDestroy {
		path = "/v1/destroy/"
	}
	body := begin{
		Namespace: run.Namespace, Name: run.Name, Purpose: run.Purpose, Generation: run.Generation,
		Attempt: run.Attempt, Previous: run.Previous, Approval: run.Approval,
	}
	if inputs := run.Request.External.Inputs; inputs != nil {
		body.Inputs = inputs.Raw
	}
	c, err := e.call(ctx, run, http.MethodPut, path+run.Key, body)
	if err != nil {
		return nil, err
	}
	return observation(c)
}

// Observe implements [executor.Executor].
func (e *Executor) Observe(ctx context.Context, run executor.Run) (*executor.Observation, error) {
	c, err := e.call(ctx, run, http.MethodGet, "/v1/runs/"+run.Key, nil)
	if err != nil {
		return nil, err
	}
	if err := c.Gone(); err != nil {
		return nil, err
	}
	return observation(c)
}

// Cancel implements [executor.Executor].
func (e *Executor) Cancel(ctx context.Context, run executor.Run) error {
	return e.post(ctx, run, "/cancel", nil)
}

// Approve implements [executor.Executor]. The server refuses a digest that is not that of the
// run's plan.
func (e *Executor) Approve(ctx context.Context, run executor.Run, digest string) error {
	return e.post(ctx, run, "/approve", map[string]string{"digest": digest})
}

// post sends a request about a run. A conflict is no error: the run isn't in the state that the
// request needs, which the next look at it shows.
func (e *Executor) post(ctx context.Context, run executor.Run, verb string, body any) error {
	c, err := e.call(ctx, run, http.MethodPost, "/v1/runs/"+run.Key+verb, body)
	if err != nil {
		return err
	}
	return c.Failure([]int32{200, 202, 204, 409}, time.Now())
}

// call sends a request.
func (e *Executor) call(ctx context.Context, run executor.Run, method, path string, body any) (*executor.Call, error) {
	x := run.Request.External
	return e.server.Call(ctx, run, executor.Request{
		Method: method, URL: strings.TrimSuffix(x.URL, "/") + path, Body: body, Poll: method == http.MethodGet,
		HTTPRequest: &v1alpha1.HTTPRequest{URL: x.URL, Auth: x.Auth, CABundle: x.CABundle},
	})
}

// observation returns what a response says about a run.
func observation(c *executor.Call) (*executor.Observation, error) {
	if err := c.Failure([]int32{200, 201, 202}, time.Now()); err != nil {
		return nil, err
	}
	var s state
	if err := json.Unmarshal(c.Body, &s); err != nil {
		return nil, &executor.Error{Class: executor.Unknown, Message: executor.PublicURL(c.URL) + " doesn't answer with the state of a run"}
	}
	o := &executor.Observation{
		URL: executor.PublicURL(s.URL), Message: s.Message, Permanent: s.Permanent, Secrets: c.Secrets, PollAfter: c.RetryAfter(time.Now()),
	}
	if s.URL == "" {
		o.URL = executor.PublicURL(c.URL)
	}
	body, _ := executor.Decode(c.Body).(map[string]any)
	outputs, _ := body["outputs"].(map[string]any)
	if outputs == nil {
		outputs = map[string]any{}
	}
	o.Data = map[string]any{"outputs": outputs}
	switch s.Phase {
	case "Pending", "Running":
		o.State = v1alpha1.RunRunning
	case "WaitingForApproval":
		if s.Plan == nil || s.Plan.Digest == "" || len(s.Plan.Digest) > 80 {
			o.State, o.Message, o.Permanent = v1alpha1.RunFailed, "the server waits for approval, and has no plan with a digest", true
			return o, nil
		}
		o.State, o.Plan = v1alpha1.RunWaitingForApproval, &v1alpha1.ActionPlan{
			Digest: s.Plan.Digest, Summary: source.OneLine(s.Plan.Summary, maxSummary),
		}
	case "Succeeded":
		o.State = v1alpha1.RunSucceeded
	case "Failed":
		o.State = v1alpha1.RunFailed
	case "Cancelled":
		o.State = v1alpha1.RunCancelled
	default:
		o.State, o.Message, o.Permanent = v1alpha1.RunFailed, "the server answers with an unknown phase", true
	}
	return o, nil
}
