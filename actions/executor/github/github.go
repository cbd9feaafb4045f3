// Package github is the executor that dispatches workflows of GitHub, and waits for the end of
// their runs.
//
// GitHub returns the ID of a run if it is asked for it. Servers that can't do so, and requests
// whose answer was lost, leave only the list of runs. There a run is found by its key, which the
// workflow has in its run-name. A run that can be found by neither is never begun again.
//
// [New] is the entry point. dispatch.go begins and finds runs, observe.go follows them, outputs.go
// reads what they have made, and app.go makes tokens of Apps.
package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/utils/lru"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// publicServer is the API of github.com.
const publicServer = "https://api.github.com"

// Times of GitHub.
const (
	// listedWithin is how long a run may be missing in lists after its dispatch.
	listedWithin = 30 * time.Second
	// nameless is how long a run that was dispatched is searched for. After it, its workflow
	// doesn't have the key in its run-name.
	nameless = 10 * time.Minute
	// patience is how long a cancellation may take before it is forced.
	patience = 5 * time.Minute
	// secondaryPause is the pause after a secondary rate limit that doesn't tell its end.
	secondaryPause = time.Minute
)

// Executor implements [executor.Executor].
type Executor struct {
	executor.Unplanned
	server executor.Server
	now    func() time.Time
	// listedWithin is the constant, which tests shorten.
	listedWithin time.Duration
	// tokens are those of installations of Apps, and details which servers return the ID of
	// a run. Both are caches.
	tokens  *lru.Cache
	details *lru.Cache
}

// New returns the executor.
func New(server executor.Server) *Executor {
	return &Executor{server: server, now: time.Now, listedWithin: listedWithin, tokens: lru.New(1024), details: lru.New(1024)}
}

// Check implements [executor.Executor].
func (e *Executor) Check(request v1alpha1.ActionExecutor) []error {
	g := request.GitHubWorkflow
	return executor.Check(request, executor.Field{Path: "githubWorkflow.repository", Missing: g.Repository == ""},
		executor.Field{Path: "githubWorkflow.ref", Missing: g.Ref == ""}, executor.Field{Path: "githubWorkflow.auth", Missing: g.Auth == nil})
}

// serverOf returns the address of the API of a request, without a slash at its end.
func serverOf(run executor.Run) string {
	if s := run.Request.GitHubWorkflow.Server; s != "" {
		return strings.TrimSuffix(s, "/")
	}
	return publicServer
}

// actions returns an address below the actions of the repository.
func actions(run executor.Run, format string, args ...any) string {
	owner, name, _ := strings.Cut(run.Request.GitHubWorkflow.Repository, "/")
	return serverOf(run) + "/repos/" + url.PathEscape(owner) + "/" + url.PathEscape(name) + "/actions" + fmt.Sprintf(format, args...)
}

// get sends a GET request. If poll is set, it spends the budget.
func (e *Executor) get(ctx context.Context, run executor.Run, at string, poll bool) (*executor.Call, error) {
	return e.call(ctx, run, executor.Request{Method: http.MethodGet, URL: at, Poll: poll})
}

// call sends a request with the credentials of a run.
func (e *Executor) call(ctx context.Context, run executor.Run, r executor.Request) (*executor.Call, error) {
	g := run.Request.GitHubWorkflow
	r.HTTPRequest = &v1alpha1.HTTPRequest{URL: serverOf(run), CABundle: g.CABundle, Headers: map[string]v1alpha1.HeaderValue{
		"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28",
	}}
	if g.Auth.App != nil {
		return e.asApp(ctx, run, r)
	}
	r.HTTPRequest.Auth = &v1alpha1.ServerAuth{TokenSecretRef: *g.Auth.TokenSecretRef}
	return e.server.Call(ctx, run, r)
}

// failure returns the error of a response, by GitHub's rules.
func (e *Executor) failure(c *executor.Call, want ...int32) error {
	now := e.now()
	err := c.Failure(want, now)
	var known *executor.Error
	if !errors.As(err, &known) || known.Class != executor.Terminal {
		return err
	}
	switch {
	case c.Status == http.StatusForbidden && strings.Contains(strings.ToLower(string(c.Body)), "rate limit"):
		known.Class, known.After = executor.Retry, now.Add(secondaryPause)
	case c.Status == http.StatusNotFound:
		known.Message += ": it doesn't exist, or the credentials have no right to it; check its name and their rights"
	}
	return known
}
