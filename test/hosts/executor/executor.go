// Package executor is a server of the executor protocol, for tests. It can have faults.
//
// [New] is the entry point. The server keeps its runs in memory; a run is Running when it was
// begun, and ends as soon as it was shown.
package executor

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
)

// Fault is something that a server does wrong.
type Fault string

// The faults.
const (
	Twice       Fault = "begins a second run for a key that it knows"
	Late        Fault = "shows runs only after the second request"
	Open        Fault = "ignores tokens"
	Lenient     Fault = "begins a run for any body"
	Strict      Fault = "refuses unknown fields"
	Hasty       Fault = "doesn't wait for approval"
	NoDigest    Fault = "has a plan without a digest"
	AnyDigest   Fault = "takes any digest for an approval"
	Endless     Fault = "can't cancel a run that waits"
	Words       Fault = "has phases of its own"
	List        Fault = "has a list of outputs"
	Forgetful   Fault = "shows unknown runs as Pending"
	NoDestroy   Fault = "has no destroy"
	Unclosed    Fault = "accepts the cancellation of an ended run"
	Unparseable Fault = "answers with text"
	Restless    Fault = "changes the outputs of an ended run"
)

// run is one run.
type run struct {
	number              int
	phase               string
	approval, destroyed bool
	shown               int
}

// Server is a server of the protocol. It is an [http.Handler].
type Server struct {
	// Token is the token that requests must have, if it isn't empty.
	Token string
	// Fault is what the server does wrong.
	Fault Fault

	mu    sync.Mutex
	runs  map[string]*run
	begun int
	names []string
	mux   *http.ServeMux
}

// New returns a server.
func New() *Server {
	s := &Server{runs: map[string]*run{}, mux: http.NewServeMux()}
	s.mux.HandleFunc("PUT /v1/runs/{key}", s.begin)
	s.mux.HandleFunc("PUT /v1/destroy/{key}", s.begin)
	s.mux.HandleFunc("GET /v1/runs/{key}", s.get)
	s.mux.HandleFunc("POST /v1/runs/{key}/approve", s.approve)
	s.mux.HandleFunc("POST /v1/runs/{key}/cancel", s.cancel)
	return s
}

// Begun returns the number of runs that were begun.
func (s *Server) Begun() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun
}

// Names returns the names of the Actions whose runs were begun, in their order.
func (s *Server) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.names)
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.Token != "" && r.Header.Get("Authorization") != "Bearer "+s.Token && s.Fault != Open {
		http.Error(w, "no such token", http.StatusUnauthorized)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mux.ServeHTTP(w, r)
}

func (s *Server) begin(w http.ResponseWriter, r *http.Request) {
	key := r.PathValue("key")
	destroys := r.URL.Path == "/v1/destroy/"+key
	if destroys && s.Fault == NoDestroy {
		http.NotFound(w, r)
		return
	}
	var body struct {
		Namespace, Name, Purpose string
		Generation, Attempt      int64
		Inputs, Previous         map[string]any
		Approval                 bool
	}
	d := json.NewDecoder(r.Body)
	if s.Fault == Strict {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(&body); err != nil && s.Fault != Lenient {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	known := s.runs[key]
	if known == nil || s.Fault == Twice {
		s.begun++
		s.names = append(s.names, body.Name)
		known = &run{number: s.begun, phase: "Running", approval: body.Approval, destroyed: destroys}
		if body.Approval && s.Fault != Hasty {
			known.phase = "WaitingForApproval"
		}
		s.runs[key] = known
		w.WriteHeader(http.StatusCreated)
	}
	s.answer(w, known)
}

func (s *Server) get(w http.ResponseWriter, r *http.Request) {
	known := s.runs[r.PathValue("key")]
	if known == nil && s.Fault == Forgetful {
		known = &run{phase: "Pending"}
	}
	if known != nil {
		known.shown++
	}
	if known == nil || s.Fault == Late && known.shown == 1 {
		http.NotFound(w, r)
		return
	}
	s.answer(w, known)
	if known.phase == "Running" {
		known.phase = "Succeeded"
	}
}

func (s *Server) approve(w http.ResponseWriter, r *http.Request) {
	known := s.runs[r.PathValue("key")]
	var body struct{ Digest string }
	_ = json.NewDecoder(r.Body).Decode(&body) // no digest is a wrong one
	switch {
	case known == nil:
		http.NotFound(w, r)
	case known.phase != "WaitingForApproval" || body.Digest != digest(known) && s.Fault != AnyDigest:
		http.Error(w, "the run has another plan", http.StatusConflict)
	default:
		known.phase = "Running"
		w.WriteHeader(http.StatusNoContent)
	}
}

func (s *Server) cancel(w http.ResponseWriter, r *http.Request) {
	known := s.runs[r.PathValue("key")]
	switch {
	case known == nil:
		http.NotFound(w, r)
	case known.phase == "WaitingForApproval" && s.Fault == Endless:
		http.Error(w, "the run waits", http.StatusConflict)
	case known.phase == "Running" || known.phase == "WaitingForApproval":
		known.phase = "Cancelled"
		w.WriteHeader(http.StatusAccepted)
	case s.Fault == Unclosed:
		w.WriteHeader(http.StatusAccepted)
	default:
		http.Error(w, "the run has ended", http.StatusConflict)
	}
}

func digest(r *run) string { return fmt.Sprintf("sha256:%d", r.number) }

// answer answers with the state of a run.
func (s *Server) answer(w http.ResponseWriter, r *run) {
	if s.Fault == Unparseable {
		fmt.Fprintln(w, r.phase)
		return
	}
	state := map[string]any{"phase": r.phase, "message": "", "url": fmt.Sprintf("https://runs.example.com/%d", r.number)}
	switch r.phase {
	case "WaitingForApproval":
		plan := map[string]any{"digest": digest(r), "summary": "creates a database"}
		if s.Fault == NoDigest {
			delete(plan, "digest")
		}
		state["plan"] = plan
	case "Succeeded":
		outputs := map[string]any{"endpoint": fmt.Sprintf("db-%d.example.com", r.number)}
		if s.Fault == Restless {
			outputs["shown"] = r.shown
		}
		state["outputs"] = outputs
		if s.Fault == List {
			state["outputs"] = []any{"db"}
		}
	}
	if s.Fault == Words {
		state["phase"] = "in_progress"
	}
	_ = json.NewEncoder(w).Encode(state) // the client may be gone
}
