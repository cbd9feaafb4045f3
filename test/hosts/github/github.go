// Package github is a stand-in for the part of GitHub's REST API that runs workflows. It answers
// as the public documentation of GitHub says, including what makes a client's life hard: runs
// appear in lists later than they are dispatched, others dispatch the same workflow at the same
// second, private repositories are 404 without a right, and rate limits are 403.
//
// A run is queued and in progress for the durations of [Options], by the clock of [Options], so a
// test of a client needs no sleep. A test sees with [Server.Runs] what was dispatched.
package github

import (
	"crypto/rsa"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Repository is the private repository that the server has, and Token a token with all rights.
const (
	Repository = "acme/infra"
	Token      = "ghp_0123456789abcdef"
)

// Mode is the answer to a dispatch.
type Mode int

// The modes.
const (
	// Details answers 200 with the ID of the run if it is asked for.
	Details Mode = iota
	// NoDetails ignores that wish and answers 204.
	NoDetails
	// Old refuses the field, as GitHub Enterprise Server 3.19 does.
	Old
)

// Options configure a server.
type Options struct {
	Mode Mode
	// Prefix is the path before /repos: /api/v3 for GitHub Enterprise Server.
	Prefix string
	// Now is the clock; nil is the system's.
	Now func() time.Time
	// Unlisted, Queued, Waiting and Running are how long a run is in no list, queued, waiting for
	// the approval of people, and in progress.
	Unlisted, Queued, Waiting, Running time.Duration
	// Stubborn runs end by a forced cancellation only.
	Stubborn bool
	// Foreign is the number of runs that others dispatch before and after each run.
	Foreign int
	// AppID and AppKey are a GitHub App whose installation 7 has the repository.
	AppID  string
	AppKey *rsa.PublicKey
	// Before and After are called before and after a dispatch has an effect. If Before returns
	// false, the dispatch has none, and no answer.
	Before func() bool
	After  func()
}

// Workflow is a file of the repository.
type Workflow struct {
	ID     int64
	File   string
	Manual bool // it has the trigger workflow_dispatch
	Inputs []string
	// Title is the run-name, in which ${{ inputs.NAME }} is replaced.
	Title      string
	Conclusion string
	Jobs       int
	Artifacts  map[string][]byte // zips by name
}

// Limit is a rate limit that all requests meet.
type Limit int

// The limits.
const (
	NoLimit             Limit = iota
	Primary                   // x-ratelimit-remaining is 0
	Secondary                 // with Retry-After
	SecondaryUndeclared       // only the message tells it
)

// Server is the stand-in.
type Server struct {
	*httptest.Server
	// Downloads is the host that artifacts are at. It refuses requests with credentials.
	Downloads *httptest.Server

	o Options

	mu        sync.Mutex
	workflows []Workflow
	runs      []*Run
	last      int64
	most      int                  // own runs that were open at once
	tokens    map[string]time.Time // the ends of their validity
	limit     Limit
	requests  []string
}

// New starts a server, which ends with the test.
func New(t testing.TB, o Options, workflows ...Workflow) *Server {
	t.Helper()
	s := Serve(o, workflows...)
	t.Cleanup(s.Close)
	return s
}

// Serve starts a server. The caller closes it.
func Serve(o Options, workflows ...Workflow) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{o: o, workflows: workflows, last: 1000, tokens: map[string]time.Time{Token: o.Now().AddDate(1, 0, 0)}}
	s.Server, s.Downloads = httptest.NewServer(s.routes()), httptest.NewServer(http.HandlerFunc(s.download))
	return s
}

// Close ends the server and its host of artifacts.
func (s *Server) Close() {
	s.Server.Close()
	s.Downloads.Close()
}

// SetLimit sets the rate limit that all requests meet.
func (s *Server) SetLimit(l Limit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = l
}

// Revoke makes a token invalid.
func (s *Server) Revoke(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tokens, token)
}

// Requests returns the methods and paths of all requests.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.requests...)
}

// routes returns the handler of the API.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	repo := s.o.Prefix + "/repos/{owner}/{repo}/actions"
	for pattern, f := range map[string]func(http.ResponseWriter, *http.Request){
		"POST " + repo + "/workflows/{workflow}/dispatches": s.dispatch,
		"GET " + repo + "/workflows/{workflow}":             s.flow,
		"GET " + repo + "/workflows/{workflow}/runs":        s.list,
		"GET " + repo + "/runs/{id}":                        s.get,
		"GET " + repo + "/runs/{id}/jobs":                   s.jobs,
		"GET " + repo + "/runs/{id}/artifacts":              s.artifacts,
		"GET " + repo + "/artifacts/{id}/zip":               s.artifact,
		"POST " + repo + "/runs/{id}/cancel":                s.cancel,
		"POST " + repo + "/runs/{id}/force-cancel":          s.cancel,
	} {
		mux.HandleFunc(pattern, s.authorized(f))
	}
	mux.HandleFunc("POST "+s.o.Prefix+"/app/installations/{id}/access_tokens", s.installation)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotFound, "Not Found") })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r.Method+" "+r.URL.Path)
		s.mu.Unlock()
		mux.ServeHTTP(w, r)
	})
}

// authorized checks the token and the rate limit of a request.
func (s *Server) authorized(f func(http.ResponseWriter, *http.Request)) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		until, known := s.tokens[token]
		limit, now := s.limit, s.o.Now()
		s.mu.Unlock()
		limits(w, limit, now)
		switch {
		case token != "" && (!known || now.After(until)):
			refuse(w, http.StatusUnauthorized, "Bad credentials")
		case limit == Primary:
			refuse(w, http.StatusForbidden, "API rate limit exceeded for user ID 1.")
		case limit != NoLimit:
			refuse(w, http.StatusForbidden, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.")
		case token == "" || !strings.EqualFold(r.PathValue("owner")+"/"+r.PathValue("repo"), Repository):
			// The existence of a private repository is a secret.
			refuse(w, http.StatusNotFound, "Not Found")
		default:
			f(w, r)
		}
	}
}

// limits sets the headers of the rate limit.
func limits(w http.ResponseWriter, l Limit, now time.Time) {
	h := w.Header()
	h.Set("X-Ratelimit-Limit", "5000")
	h.Set("X-Ratelimit-Remaining", "4999")
	h.Set("X-Ratelimit-Reset", strconv.FormatInt(now.Add(time.Hour).Unix(), 10))
	switch l {
	case Primary:
		h.Set("X-Ratelimit-Remaining", "0")
	case Secondary:
		h.Set("Retry-After", "60")
	}
}

// answer writes a value, or 304 if the client has it.
func answer(w http.ResponseWriter, r *http.Request, status int, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // can't happen: the values are maps of this package
	}
	if r.Method == http.MethodGet {
		tag := fmt.Sprintf(`W/"%x"`, sha256.Sum256(data))
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(data) // the client may be dead
}

// refuse writes an error.
func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{ // the client may be dead
		"message": message, "documentation_url": "https://docs.github.com/rest", "status": strconv.Itoa(status),
	})
}
