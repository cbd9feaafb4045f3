// Package gitlab is a stand-in for the part of GitLab's REST API that runs pipelines. It answers as
// the public documentation of GitLab says: 201 with the ID of a pipeline, errors whose message is
// an object, trigger tokens that begin pipelines and read nothing, variables that only some tokens
// may read, and child pipelines that the state of their parent doesn't have.
//
// The states of a pipeline follow each other by the clock of [Options], so a test of a client needs
// no sleep. A test sees with [Server.Pipelines] what was created.
package gitlab

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The project that the server has, and its tokens: Token has all rights, Reader can't read
// variables, and Trigger only begins pipelines.
const (
	Project = "acme/platform/infra"
	Token   = "glpat-0123456789abcdef"
	Reader  = "glpat-reader-456789abcd"
	Trigger = "glptt-0123456789abcdef"
)

// Options configure a server.
type Options struct {
	// Prefix is the path before /api.
	Prefix string
	// Now is the clock; nil is the system's.
	Now func() time.Time
	// Stages are the states of a pipeline before its end, each for a Stage.
	Stages []string
	Stage  time.Duration
	// End is the last state; empty means success.
	End string
	// Name is the name of pipelines, in which $VARIABLE is replaced.
	Name string
	// Foreign is the number of pipelines that others create before each pipeline.
	Foreign int
	// Child is the last state of a child pipeline, which ends a Stage after its parent. Without
	// it there is no child.
	Child string
	// Bridges is the number of jobs before that of the child, which have created nothing.
	Bridges int
	// Files are the artifacts of the job terraform, by their paths. With a child, it has the job.
	Files map[string]string
	// Jobs is the number of further jobs.
	Jobs int
	// Before and After are called before and after a pipeline is created. If Before returns
	// false, none is, and there is no answer.
	Before func() bool
	After  func()
}

// Pipeline is a pipeline.
type Pipeline struct {
	ID        int64
	Source    string // api or trigger
	Ref       string
	Variables map[string]string
	Inputs    map[string]any
	Foreign   bool  // others created it
	Parent    int64 // of a child

	created, cancelled time.Time
}

// Server is the stand-in.
type Server struct {
	*httptest.Server
	// Downloads is the host that artifacts are at. It refuses requests with credentials.
	Downloads *httptest.Server

	o Options

	mu        sync.Mutex
	pipelines []*Pipeline
	last      int64
	most      int // own pipelines that were open at once
	requests  []string
	limited   bool
}

// New starts a server.
func New(t testing.TB, o Options) *Server {
	t.Helper()
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.End == "" {
		o.End = "success"
	}
	s := &Server{o: o, last: 100}
	s.Server, s.Downloads = httptest.NewServer(s.routes()), httptest.NewServer(http.HandlerFunc(s.download))
	t.Cleanup(s.Close)
	t.Cleanup(s.Downloads.Close)
	return s
}

// Limit sets whether all requests meet the rate limit.
func (s *Server) Limit(limited bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limited = limited
}

// Requests returns the methods and paths of all requests.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// routes returns the handler of the API. Projects have escaped paths, so the patterns have one
// segment for them.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	project := s.o.Prefix + "/api/v4/projects/{project}"
	for pattern, f := range map[string]func(http.ResponseWriter, *http.Request){
		"POST " + project + "/pipeline":                      s.create,
		"GET " + project + "/pipelines":                      s.list,
		"GET " + project + "/pipelines/{id}":                 s.get,
		"GET " + project + "/pipelines/{id}/variables":       s.variables,
		"GET " + project + "/pipelines/{id}/jobs":            s.jobs,
		"GET " + project + "/pipelines/{id}/bridges":         s.bridges,
		"POST " + project + "/pipelines/{id}/cancel":         s.cancel,
		"GET " + project + "/jobs/{job}/artifacts/{path...}": s.artifact,
	} {
		mux.HandleFunc(pattern, s.authorized(f))
	}
	mux.HandleFunc("POST "+project+"/trigger/pipeline", s.trigger)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotFound, "404 Not Found") })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r.Method+" "+r.URL.EscapedPath())
		limited := s.limited
		s.mu.Unlock()
		if limited {
			w.Header().Set("Retry-After", "60")
			http.Error(w, "Retry later", http.StatusTooManyRequests)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// authorized checks the token of a request.
func (s *Server) authorized(f func(http.ResponseWriter, *http.Request)) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		token := tokenOf(r)
		switch {
		case token != "" && token != Token && token != Reader:
			refuse(w, http.StatusUnauthorized, "401 Unauthorized")
		case token == "" || !isProject(r):
			// The existence of a private project is a secret.
			refuse(w, http.StatusNotFound, "404 Project Not Found")
		default:
			f(w, r)
		}
	}
}

// tokenOf returns the token of a request.
func tokenOf(r *http.Request) string {
	if token := r.Header.Get("PRIVATE-TOKEN"); token != "" {
		return token
	}
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// isProject reports whether a request is about the project, by its path or its ID.
func isProject(r *http.Request) bool {
	p := r.PathValue("project")
	return p == Project || p == "7"
}

// answer writes a value.
func answer(w http.ResponseWriter, status int, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // can't happen: the values are maps of this package
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // the client may be dead
}

// refuse writes an error.
func refuse(w http.ResponseWriter, status int, message any) {
	answer(w, status, map[string]any{"message": message})
}
