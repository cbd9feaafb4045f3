package faults

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Fault is something that goes wrong with a request: Status, Delay, Timeout,
// Hang, Cut or Drop.
type Fault interface {
	happen(w http.ResponseWriter, r *http.Request, forward http.Handler)
}

// Status answers in the API server's place, and as it would: with a Status
// object of that code. The server never sees the request.
type Status struct {
	Code int
	// RetryAfter is said in the header that makes client-go try again by itself,
	// in whole seconds; 0 is no header.
	RetryAfter time.Duration
}

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
	// A client that doesn't read its answer has gone.
	_ = json.NewEncoder(w).Encode(status)
}

// Delay lets the request wait before the server sees it.
type Delay struct{ For time.Duration }

func (d Delay) happen(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	if pause(r, d.For) {
		forward.ServeHTTP(w, r)
	}
}

// Timeout answers as an API server whose database doesn't: 504, after a while.
// The server never sees the request.
type Timeout struct{ After time.Duration }

func (t Timeout) happen(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	if pause(r, t.After) {
		Status{Code: http.StatusGatewayTimeout}.happen(w, r, forward)
	}
}

// Hang never answers: the client gives up, or waits. The server never sees the
// request.
type Hang struct{}

func (Hang) happen(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	<-r.Context().Done()
}

// Drop breaks the connection before the server sees the request.
type Drop struct{}

func (Drop) happen(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }

// Cut breaks the connection after that many bytes of the answer, or half of it
// if it is shorter; at 0 not even its status is seen. What the request asked
// for has then been done, which makes it the worst of all faults.
type Cut struct{ After int }

func (c Cut) happen(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	forward.ServeHTTP(&cutter{ResponseWriter: w, left: c.After}, r)
	panic(http.ErrAbortHandler)
}

// cutter is a response that breaks off.
type cutter struct {
	http.ResponseWriter
	left int
}

func (c *cutter) WriteHeader(code int) {
	if length, err := strconv.Atoi(c.Header().Get("Content-Length")); err == nil {
		c.left = min(c.left, length/2)
	}
	if c.left == 0 {
		panic(http.ErrAbortHandler)
	}
	c.ResponseWriter.WriteHeader(code)
}

func (c *cutter) Write(data []byte) (int, error) {
	if len(data) < c.left {
		c.left -= len(data)
		return c.ResponseWriter.Write(data)
	}
	// Whether these bytes still arrive doesn't matter: it breaks off here.
	_, _ = c.ResponseWriter.Write(data[:c.left])
	c.Flush()
	panic(http.ErrAbortHandler)
}

// Flush passes on what was written.
func (c *cutter) Flush() { _ = http.NewResponseController(c.ResponseWriter).Flush() }

// pause waits, and says whether the client is still there.
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
