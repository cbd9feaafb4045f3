// Package codehost is a stand-in for GitHub and GitLab in tests: the part of their APIs
// that keeps comments and labels of pull requests. It refuses what they refuse: unknown
// tokens, tokens that may only read, comments that are too long, changes of others'
// comments, and pages that are too large.
//
// A test sees and changes the comments as a person does, with the methods of [Host]. It
// sets Fault to answer requests with errors of its own.
package codehost

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"unicode/utf8"
)

// Comment is a comment on the pull request.
type Comment struct {
	ID        int64
	Author    string
	Body      string
	Minimized bool
}

// Account is the owner of a token.
type Account struct {
	Name string
	// ReadOnly is a token of a workflow that a fork started.
	ReadOnly bool
}

// Pull is a pull request.
type Pull struct {
	Number int64
	// Owner and Branch name the branch that it merges, and Head its newest commit.
	Owner, Branch, Head string
	Comments            []Comment
	Labels              []string
}

// Host is one code host with one repository.
type Host struct {
	URL string

	mu       sync.Mutex
	accounts map[string]Account
	pulls    []*Pull
	last     int64
	requests []string
	fault    func(r *http.Request) *Fault
}

// Fault is an answer instead of the host's own.
type Fault struct {
	Status int
	Header map[string]string
	// Late carries out the request first, as a gateway does that loses the answer.
	Late bool
}

// Start starts a host until the end of the test. Tokens are the keys of accounts.
func Start(t testing.TB, accounts map[string]Account, pulls ...Pull) *Host {
	h := &Host{accounts: accounts}
	for _, p := range pulls {
		h.pulls = append(h.pulls, &p)
	}
	mux := http.NewServeMux()
	h.serveGitHub(mux)
	h.serveGitLab(mux)
	server := httptest.NewServer(h.faulty(mux))
	t.Cleanup(server.Close)
	h.URL = server.URL
	return h
}

// Change calls f while no request is served.
func (h *Host) Change(number int64, f func(p *Pull)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f(h.pull(number))
}

// Comments returns a copy of the comments of a pull request.
func (h *Host) Comments(number int64) (all []Comment) {
	h.Change(number, func(p *Pull) { all = slices.Clone(p.Comments) })
	return all
}

// Requests returns "METHOD /path" of all requests so far, and forgets them.
func (h *Host) Requests() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.requests
	h.requests = nil
	return all
}

// SetFault makes f decide which requests get an answer of its own. f may call the
// methods of h: it runs before the request is served.
func (h *Host) SetFault(f func(r *http.Request) *Fault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fault = f
}

// Add adds a comment of another account.
func (h *Host) Add(number int64, author, body string) {
	h.Change(number, func(p *Pull) { h.add(p, author, body) })
}

func (h *Host) add(p *Pull, author, body string) Comment {
	h.last++
	c := Comment{ID: h.last, Author: author, Body: body}
	p.Comments = append(p.Comments, c)
	return c
}

func (h *Host) pull(number int64) *Pull {
	for _, p := range h.pulls {
		if p.Number == number {
			return p
		}
	}
	return nil
}

func (h *Host) faulty(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		h.requests = append(h.requests, r.Method+" "+r.URL.Path)
		decide := h.fault
		h.mu.Unlock()
		var fault *Fault
		if decide != nil {
			fault = decide(r)
		}
		if fault == nil || fault.Late {
			into := w
			if fault != nil {
				into = httptest.NewRecorder()
			}
			h.mu.Lock()
			next.ServeHTTP(into, r)
			h.mu.Unlock()
		}
		if fault != nil {
			for name, value := range fault.Header {
				w.Header().Set(name, value)
			}
			refuse(w, fault.Status, "stand-in")
		}
	})
}

// refuse answers with an error.
func refuse(w http.ResponseWriter, status int, message string) {
	w.WriteHeader(status)
	answer(w, map[string]string{"message": message})
}

func answer(w http.ResponseWriter, v any) {
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

// access wraps a handler of one API. It serves accounts with a known token, and refuses
// writes of those that may only read.
func (h *Host) access(tokenOf func(*http.Request) string, f func(w http.ResponseWriter, r *http.Request, a Account)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		a, ok := h.accounts[tokenOf(r)]
		switch {
		case !ok:
			refuse(w, http.StatusUnauthorized, "Bad credentials")
		case a.ReadOnly && r.Method != http.MethodGet:
			refuse(w, http.StatusForbidden, "Resource not accessible by integration")
		default:
			f(w, r, a)
		}
	}
}

// page returns the part of all that a request asks for, or false if the page is too
// large.
func page[T any](r *http.Request, all []T) ([]T, bool) {
	size, err := strconv.Atoi(r.FormValue("per_page"))
	if err != nil {
		size = 30
	}
	n, err := strconv.Atoi(r.FormValue("page"))
	if err != nil {
		n = 1
	}
	from, to := min((n-1)*size, len(all)), min(n*size, len(all))
	return all[from:to], size <= 100
}

// body decodes the JSON body of a request.
func body[T any](r *http.Request) (v T) {
	_ = json.NewDecoder(r.Body).Decode(&v) // what is missing is refused as empty
	return v
}

// tooLong reports whether a text has more characters than a host takes.
func tooLong(text string, limit int) bool { return utf8.RuneCountInString(text) > limit }
