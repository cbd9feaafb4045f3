// Package app stands in for applications that Monitors read: a real GraphQL server, whose state
// the test sets, at an address of its own in the loopback network.
//
// [Start] is the entry point of tests, and [Serve] that of programs.
package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	graphql "github.com/graph-gophers/graphql-go"
)

// schema is that of the application.
const schema = `
schema { query: Query mutation: Mutation }
type Query { application: Application!, padding(size: Int!): String! }
type Mutation { stop: Boolean! }
type Application { status: String! health: String! pendingTasks: Int! owner: String }
`

// App is an application. Its methods may be called concurrently.
type App struct {
	// Address is the address without the port.
	Address string

	mu       sync.Mutex
	state    state
	override http.HandlerFunc
	polls    []time.Time
	queries  map[string][]time.Time
	header   http.Header
	server   *http.Server
}

// state is what the application answers.
type state struct {
	status, health string
	pending        int32
	owner          error
}

// numbers makes addresses.
var numbers atomic.Uint32

// Port is the port of all applications. It depends on the process, because others may have
// applications with the same addresses.
func Port() int { return 20000 + os.Getpid()%40000 }

// Start starts an application at an address of its own.
func Start(t testing.TB) *App {
	t.Helper()
	return StartOn(t, Port())
}

// StartOn is [Start] with a port.
func StartOn(t testing.TB, port int) *App {
	t.Helper()
	a, err := Serve(port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// Serve starts an application with a port. The caller closes it.
func Serve(port int) (*App, error) {
	address, listener, err := listen(port)
	if err != nil {
		return nil, err
	}
	a := &App{Address: address, state: state{status: "running", health: "healthy"}, queries: map[string][]time.Time{}}
	parsed, err := graphql.ParseSchema(schema, &resolver{a})
	if err != nil {
		listener.Close() // nothing has used it
		return nil, err
	}
	a.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: a.handler(parsed)}
	go func() { _ = a.server.Serve(listener) }() // until it is closed
	return a, nil
}

// Close ends the application.
func (a *App) Close() { a.server.Close() } // an error is that of the listener, which is closed anyway

// listen listens at the next address at which the port is free: other processes may have
// applications with the same port.
func listen(port int) (string, net.Listener, error) {
	for {
		n := numbers.Add(1)
		address := fmt.Sprintf("127.77.%d.%d", n/250, n%250+1)
		listener, err := net.Listen("tcp", net.JoinHostPort(address, fmt.Sprint(port)))
		if err == nil || n > 10000 {
			return address, listener, err
		}
	}
}

// handler answers queries, and what the test overrides.
func (a *App) handler(parsed *graphql.Schema) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		override := a.override
		a.polls, a.header = append(a.polls, time.Now()), r.Header.Clone()
		a.queries[r.URL.RawQuery] = append(a.queries[r.URL.RawQuery], time.Now())
		a.mu.Unlock()
		if override != nil {
			override(w, r)
			return
		}
		var query struct {
			Query         string
			OperationName string
			Variables     map[string]any
		}
		if err := json.NewDecoder(r.Body).Decode(&query); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer := parsed.Exec(r.Context(), query.Query, query.OperationName, query.Variables)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer) // the client may be gone
	})
}

// Set sets the health and the number of pending tasks.
func (a *App) Set(health string, pending int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state.health, a.state.pending = health, int32(pending)
}

// Fail has the field owner fail, so answers have errors beside data.
func (a *App) Fail(message string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state.owner = errors.New(message)
}

// Override answers all requests by a function; nil ends that.
func (a *App) Override(by http.HandlerFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.override = by
}

// Polls returns the times of all requests.
func (a *App) Polls() []time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]time.Time{}, a.polls...)
}

// PollsOf returns the times of the requests whose path has a query.
func (a *App) PollsOf(query string) []time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]time.Time{}, a.queries[query]...)
}

// Header returns the headers of the last request.
func (a *App) Header() http.Header {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.header
}

// resolver resolves queries.
type resolver struct{ app *App }

// Application resolves the field application.
func (r *resolver) Application() *application {
	r.app.mu.Lock()
	defer r.app.mu.Unlock()
	return &application{r.app.state}
}

// Padding resolves the field padding.
func (r *resolver) Padding(args struct{ Size int32 }) string {
	return string(make([]byte, args.Size))
}

// Stop resolves the mutation stop.
func (r *resolver) Stop() bool { return true }

// application resolves the fields of the application.
type application struct{ state state }

// Status resolves the field status.
func (a *application) Status() string { return a.state.status }

// Health resolves the field health.
func (a *application) Health() string { return a.state.health }

// PendingTasks resolves the field pendingTasks.
func (a *application) PendingTasks() int32 { return a.state.pending }

// Owner resolves the field owner, which may fail.
func (a *application) Owner() (*string, error) {
	owner := "team"
	if a.state.owner != nil {
		return nil, a.state.owner
	}
	return &owner, nil
}
