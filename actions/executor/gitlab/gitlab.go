// Package gitlab is the executor that creates pipelines of GitLab, and waits for their end.
//
// GitLab returns the ID of a pipeline. A pipeline whose creation had no answer is found by a
// variable, or by its name, that has the key of the run. A pipeline has ended when its child
// pipelines have, too.
//
// [New] is the entry point. create.go creates and finds pipelines, observe.go follows them, and
// jobs.go reads what they have made.
package gitlab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/utils/lru"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/api/action"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// publicServer is gitlab.com.
const publicServer = "https://gitlab.com"

// listedWithin is how long a pipeline may be missing in lists after the request that creates it:
// the server may go on with a request whose client is gone.
const listedWithin = 30 * time.Second

// Executor implements [executor.Executor].
type Executor struct {
	executor.Unplanned
	server       executor.Server
	now          func() time.Time
	listedWithin time.Duration
	// keys are the values of the variable with the key, by the address of the pipeline. They
	// don't change.
	keys *lru.Cache
}

// New returns the executor.
func New(server executor.Server) *Executor {
	return &Executor{server: server, now: time.Now, listedWithin: listedWithin, keys: lru.New(4096)}
}

// Check implements [executor.Executor].
func (e *Executor) Check(request v1alpha1.ActionExecutor) []error {
	g := request.GitLabPipeline
	return executor.Check(request, executor.Field{Path: "gitlabPipeline.project", Missing: g.Project == ""},
		executor.Field{Path: "gitlabPipeline.ref", Missing: g.Ref == ""}, executor.Field{Path: "gitlabPipeline.auth", Missing: g.Auth == nil})
}

// keyVariable returns the variable that gets the key of a run.
func keyVariable(g *v1alpha1.GitLabPipeline) string {
	return cmp.Or(g.KeyVariable, action.DefaultKeyVariable)
}

// serverOf returns the address of the API of a request.
func serverOf(run executor.Run) string {
	return strings.TrimSuffix(cmp.Or(run.Request.GitLabPipeline.Server, publicServer), "/") + "/api/v4"
}

// project returns an address below the project, whose path is one segment.
func project(run executor.Run, format string, args ...any) string {
	return serverOf(run) + "/projects/" + url.PathEscape(run.Request.GitLabPipeline.Project) + fmt.Sprintf(format, args...)
}

// call sends a request with the token of a run, if it has one.
func (e *Executor) call(ctx context.Context, run executor.Run, r executor.Request) (*executor.Call, error) {
	g := run.Request.GitLabPipeline
	r.HTTPRequest = &v1alpha1.HTTPRequest{URL: serverOf(run), CABundle: g.CABundle}
	if ref := g.Auth.TokenSecretRef; ref != nil {
		r.HTTPRequest.Auth = &v1alpha1.ServerAuth{TokenSecretRef: *ref}
	}
	return e.server.Call(ctx, run, r)
}

// get sends a GET request. If poll is set, it spends the budget. At most the first request of a
// call does, because everything since then is repeated if the program polls too often.
func (e *Executor) get(ctx context.Context, run executor.Run, at string, poll bool) (*executor.Call, error) {
	return e.call(ctx, run, executor.Request{Method: http.MethodGet, URL: at, Poll: poll})
}

// read sends a GET request, and decodes the response.
func (e *Executor) read(ctx context.Context, run executor.Run, at string, poll bool, into any) (*executor.Call, error) {
	c, err := e.get(ctx, run, at, poll)
	if err != nil {
		return nil, err
	}
	return c, e.decode(c, into)
}

// pages reads the pages of a list, and reports whether it has reached the last one.
func (e *Executor) pages(ctx context.Context, run executor.Run, at string, most int, poll bool, take func(*executor.Call) error) (complete bool, err error) {
	return executor.Pages(at, most, poll, func(at string, poll bool) (*executor.Call, error) { return e.get(ctx, run, at, poll) }, take)
}

// decode decodes a response to a GET request.
func (e *Executor) decode(c *executor.Call, into any) error { return c.Into(into, "GitLab", e.failure) }

// failure returns the error of a response.
func (e *Executor) failure(c *executor.Call, want ...int32) error {
	err := c.Failure(want, e.now())
	var known *executor.Error
	if errors.As(err, &known) && known.Class == executor.Terminal && c.Status == http.StatusNotFound {
		known.Message += ": it doesn't exist, or the credentials have no right to it; check its name and their rights"
	}
	return err
}
