package cluster

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"sync"

	"github.com/pequod-io/pequod/internal/bodylimit"
	"github.com/pequod-io/pequod/internal/jsonlimit"
)

const (
	// maxAnswer is the size of the largest answer of a distant cluster in bytes. A watch
	// has no limit but that of client-go for an event.
	maxAnswer = 32 << 20
	// maxRoom is the memory in bytes of all answers of distant clusters that are being read. It is estimated: an
	// answer is copied as it grows, and each of its values becomes an object in memory.
	maxRoom  = 192 << 20
	perByte  = 2
	perValue = 48
)

// errNoRoom ends an answer. A later request may succeed.
var errNoRoom = errors.New("the answer is given up, because the answers of all other clusters together are too large; it is requested again")

// Room bounds the memory of answers of distant clusters that are being read. If they exceed it, the largest answer of
// the owner that holds most is given up. So none waits for another, and who holds little isn't affected. The zero
// value is ready to use, and safe for concurrent use.
type Room struct {
	mu      sync.Mutex
	held    int
	answers map[*answer]struct{}
}

// answer is the body of an answer that is being read.
type answer struct {
	io.ReadCloser
	room   *Room
	owner  string
	values *jsonlimit.Counter
	cancel context.CancelFunc // of the request

	// The mutex of the room guards these.
	held int
	lost bool
}

// send sends a request, and limits the answer.
func (r *Room) send(next http.RoundTripper, owner string, request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(request.Context())
	response, err := next.RoundTrip(request.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	a := &answer{
		ReadCloser: bodylimit.New(response.Body, maxAnswer), room: r, owner: owner, cancel: cancel,
		values: jsonlimit.NewCounter(jsonlimit.Limits{Values: math.MaxInt, Depth: math.MaxInt}),
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.answers == nil {
		r.answers = map[*answer]struct{}{}
	}
	r.answers[a] = struct{}{}
	response.Body = a
	return response, nil
}

// Read implements [io.Reader].
func (a *answer) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	before := a.values.Values()
	_, _ = a.values.Write(p[:n]) // it has no limit
	if !a.room.take(a, n*perByte+(a.values.Values()-before)*perValue) {
		return 0, errNoRoom
	}
	return n, err
}

// Close implements [io.Closer].
func (a *answer) Close() error {
	a.room.mu.Lock()
	a.room.drop(a)
	a.room.mu.Unlock()
	a.cancel()
	return a.ReadCloser.Close()
}

// take reports whether an answer may hold more memory.
func (r *Room) take(a *answer, more int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.lost {
		return false
	}
	a.held += more
	r.held += more
	for r.held > maxRoom {
		largest := r.largest()
		r.drop(largest)
		largest.lost = true
		largest.cancel() // it may be waiting for its server
	}
	return !a.lost
}

// drop gives back what an answer holds. The mutex is held.
func (r *Room) drop(a *answer) {
	r.held -= a.held
	a.held = 0
	delete(r.answers, a)
}

// largest returns the largest answer of the owner that holds most. The mutex is held.
func (r *Room) largest() *answer {
	of := map[string]int{}
	for a := range r.answers {
		of[a.owner] += a.held
	}
	var largest *answer
	for a := range r.answers {
		if largest == nil || of[a.owner] > of[largest.owner] || a.owner == largest.owner && a.held > largest.held {
			largest = a
		}
	}
	return largest
}
