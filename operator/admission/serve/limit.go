package serve

import (
	"context"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// maxBytes bounds the bytes of all requests in progress. Most requests have a few KB, so
	// that thousands of them may wait for an answer, and only nine of the largest.
	maxBytes = 64 << 20
	// maxRequest is the size that a request without one counts for, and the greatest one that
	// controller-runtime reads.
	maxRequest = 7 << 20
	// overhead is the memory that a request needs besides its bytes.
	overhead = 16 << 10
	// readTimeout bounds the time in which a request arrives. API servers wait as long for
	// the answer.
	readTimeout = 10 * time.Second
	// roomTimeout bounds the time in which a request waits for room. The end of a connection
	// isn't noticed before the request was read, and one that waits keeps back those behind it.
	roomTimeout = 5 * time.Second
)

// newRoom returns the room for the requests in progress of all webhooks.
func newRoom() *semaphore.Weighted { return semaphore.NewWeighted(maxBytes) }

// limit bounds the bytes of the requests in progress, and the time in which each must get room
// for them, and then arrive.
func limit(room *semaphore.Weighted, wait time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size := r.ContentLength
		if size < 0 {
			size = maxRequest
		}
		size = min(size, maxBytes-overhead)
		ctx, cancel := context.WithTimeout(r.Context(), wait)
		defer cancel()
		if room.Acquire(ctx, size+overhead) != nil {
			http.Error(w, "too many requests are in progress", http.StatusServiceUnavailable)
			return
		}
		defer room.Release(size + overhead)
		if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(readTimeout)); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		next.ServeHTTP(w, r)
	})
}
