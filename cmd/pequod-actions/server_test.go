package main

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// host is a server whose requests are counted. It honours Idempotency-Key, so that a key is one
// run, however often it is sent.
type host struct {
	*httptest.Server
	mu sync.Mutex
	// runs are the bodies of runs in their order, and keys their keys.
	runs, keys []string
	// posts counts all requests that begin a run, and gets those that poll.
	posts, gets int
	// polls is how often a run is polled before it has ended; 0 answers at once.
	polls int
	open  map[string]int // polls left, by key
	most  int            // the largest number of runs that were open at once
	// before and after are called before and after a run begins.
	before, after func()
	// refuse is the status code of all requests, unless it is 0.
	refuse int
	auth   []string
}

// newHost starts a server on the loopback interface.
func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{open: map[string]int{}, before: func() {}, after: func() {}}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

// ServeHTTP implements [http.Handler].
func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		h.poll(w, strings.TrimPrefix(r.URL.Path, "/runs/"))
		return
	}
	var body any
	_ = json.NewDecoder(r.Body).Decode(&body) // an empty body is none
	text, _ := json.Marshal(body)
	h.mu.Lock()
	before, after, refuse := h.before, h.after, h.refuse
	h.posts++
	h.auth = append(h.auth, r.Header.Get("Authorization"))
	h.mu.Unlock()
	before()
	if refuse != 0 {
		// What looks like a token is redacted anyway.
		_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		http.Error(w, "refused with "+token, refuse)
		return
	}
	key := r.Header.Get("Idempotency-Key")
	h.mu.Lock()
	if _, known := h.open[key]; !known {
		h.runs, h.keys = append(h.runs, string(text)), append(h.keys, key)
		h.open[key] = h.polls
		busy := 0
		for _, left := range h.open {
			if left > 0 {
				busy++
			}
		}
		h.most = max(h.most, busy)
	}
	left := h.open[key]
	h.mu.Unlock()
	after()
	if left > 0 {
		w.Header().Set("Location", "/runs/"+key)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	h.answer(w, key)
}

// poll answers about a run.
func (h *host) poll(w http.ResponseWriter, key string) {
	h.mu.Lock()
	h.gets++
	left, known := h.open[key]
	if left > 0 {
		h.open[key]--
	}
	h.mu.Unlock()
	switch {
	case !known:
		http.NotFound(w, nil)
	case left > 1:
		w.WriteHeader(http.StatusAccepted)
	default:
		h.answer(w, key)
	}
}

func (h *host) answer(w http.ResponseWriter, key string) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"endpoint": "db-" + key[:8], "password": "generated-" + key}) // the client may be dead
}

// fall ends all connections, and refuses others until the server is back.
func (h *host) fall() {
	h.Listener.Close() // an error means that it is closed
	h.CloseClientConnections()
}

// back serves at the address that the server had before it fell.
func (h *host) back(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", h.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	again := &http.Server{Handler: h}
	go func() { _ = again.Serve(l) }() // until it is closed
	t.Cleanup(func() { again.Close() })
}

// set changes the server.
func (h *host) set(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
}

// counts returns the number of runs, and of requests that begin and that poll.
func (h *host) counts() (runs, posts, gets int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.runs), h.posts, h.gets
}
