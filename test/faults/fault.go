package faults

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Fault is a failure of a request: Status, Delay, Lag, Timeout, Hang, Cut or Drop.
// They differ in whether the API server executes the request:
//
//	Status, Timeout, Hang, Drop   it does not
//	Delay                         it does, later
//	Lag                           it does, and the client sees it later
//	Cut                           it does, but the client cannot know
type Fault interface {
	// happen answers a request in place of forward, or breaks the connection by a
	// panic with http.ErrAbortHandler, which net/http does not log. It may call
	// forward, which sends the request to the API server.
	happen(w http.ResponseWriter, r *http.Request, forward http.Handler)
}

// Status answers instead of the API server, with a Status object of the given
// code. The request does not reach the server.
type Status struct {
	// Code is the HTTP status, such as 409, 429 or 500.
	Code int
	// RetryAfter sets the header Retry-After, in whole seconds, which makes
	// client-go retry by itself. 0 sets no header.
	RetryAfter time.Duration
}

// happen answers with the reason and the message that apimachinery derives from
// the code.
func (s Status) happen(w http.ResponseWriter, r *http.Request, _ http.Handler) {
	request := describe(r)
	seconds := int(s.RetryAfter / time.Second)
	status := apierrors.NewGenericServerResponse(s.Code, request.Verb, schema.ParseGroupResource(request.Resource),
		request.Name, "fault proxy", seconds, false).Status()
	status.Kind, status.APIVersion = "Status", "v1"
	if seconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(s.Code)
	// Writing fails only if the client has closed the connection.
	_ = json.NewEncoder(w).Encode(status)
}

// Delay holds a request back before it reaches the server. If the client gives up
// meanwhile, the server never gets it.
type Delay struct{ For time.Duration }

func (d Delay) happen(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	if pause(r, d.For) {
		forward.ServeHTTP(w, r)
	}
}

// Lag holds every piece of a response back. The events of a watch arrive that much later, so that
// the caches of a client show the past.
type Lag struct{ For time.Duration }

func (l Lag) happen(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	late := &lagger{header: w.Header(), pieces: make(chan piece, 1000)}
	written := make(chan struct{})
	go func() {
		defer close(written)
		for p := range late.pieces {
			if !pause(r, time.Until(p.at.Add(l.For))) {
				continue
			}
			if p.code != 0 {
				w.WriteHeader(p.code)
			}
			// Writing fails only if the client has closed the connection.
			_, _ = w.Write(p.data)
			_ = http.NewResponseController(w).Flush()
		}
	}()
	// The last pieces are written also if forward panics because the server has closed the connection.
	defer func() {
		close(late.pieces)
		<-written
	}()
	forward.ServeHTTP(late, r)
}

// piece is a status code or a part of the body of a response.
type piece struct {
	at   time.Time
	code int
	data []byte
}

// lagger is a response writer that passes pieces on.
type lagger struct {
	header http.Header
	pieces chan piece
}

func (l *lagger) Header() http.Header { return l.header }

func (l *lagger) WriteHeader(code int) { l.pieces <- piece{at: time.Now(), code: code} }

func (l *lagger) Write(data []byte) (int, error) {
	l.pieces <- piece{at: time.Now(), data: bytes.Clone(data)}
	return len(data), nil
}

// Flush does nothing: each piece is flushed when it is written.
func (l *lagger) Flush() {}

// Timeout answers 504 after a while, like an API server whose etcd does not
// answer. The request does not reach the server.
type Timeout struct{ After time.Duration }

func (t Timeout) happen(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	if pause(r, t.After) {
		Status{Code: http.StatusGatewayTimeout}.happen(w, r, forward)
	}
}

// Hang never answers: the client waits or gives up. The request does not reach
// the server.
type Hang struct{}

func (Hang) happen(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	<-r.Context().Done()
}

// Stall sends the begin of an answer, and never the rest. The request does not reach the server.
type Stall struct{}

func (Stall) happen(w http.ResponseWriter, r *http.Request, _ http.Handler) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte("{")) // it fails only if the client has closed the connection
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// Drop closes the connection before the request reaches the server.
type Drop struct{}

func (Drop) happen(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }

// Cut closes the connection after the given number of bytes of the response, or
// after half of a shorter response. With 0 the client does not even see the
// status code. The server has executed the request, which makes this the hardest
// fault to handle.
type Cut struct{ After int }

func (c Cut) happen(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	forward.ServeHTTP(&cutter{ResponseWriter: w, left: c.After}, r)
	panic(http.ErrAbortHandler)
}

// cutter is a response writer that breaks off.
type cutter struct {
	http.ResponseWriter
	// left is the number of bytes of the body that still pass.
	left int
}

// WriteHeader limits the bytes to half of a response whose length is known, so
// that even a short response is cut. With nothing left it breaks off before the
// status line.
func (c *cutter) WriteHeader(code int) {
	if length, err := strconv.Atoi(c.Header().Get("Content-Length")); err == nil {
		c.left = min(c.left, length/2)
	}
	if c.left == 0 {
		panic(http.ErrAbortHandler)
	}
	c.ResponseWriter.WriteHeader(code)
}

// Write passes data on while bytes are left. The last ones are flushed, because
// the panic would discard those that are still in a buffer.
func (c *cutter) Write(data []byte) (int, error) {
	if len(data) < c.left {
		c.left -= len(data)
		return c.ResponseWriter.Write(data)
	}
	// It does not matter whether these bytes arrive: the connection is closed
	// next.
	_, _ = c.ResponseWriter.Write(data[:c.left])
	c.Flush()
	panic(http.ErrAbortHandler)
}

// Flush passes buffered bytes on to the client.
func (c *cutter) Flush() { _ = http.NewResponseController(c.ResponseWriter).Flush() }

// pause waits, and reports whether the client is still connected.
func pause(r *http.Request, duration time.Duration) bool {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}
