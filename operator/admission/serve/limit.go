package serve

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/pequod-io/pequod/internal/jsonlimit"
)

const (
	// maxArriving bounds the bytes of all requests that are being read, and maxDecoded the memory of
	// those that are being answered. Most requests have a few KB, so that hundreds of them may be in
	// progress. They have room of their own, the rest, so that they needn't wait for large ones.
	maxArriving, maxDecoded     = 24 << 20, 40 << 20
	largeArriving, largeDecoded = 16 << 20, 28 << 20
	// largeRequest is the size from which a request is large.
	largeRequest = 128 << 10
	// maxRequest is the size of the largest request, which controller-runtime reads, too, and the
	// size that a request without one counts for. It has two objects of at most 3 MiB, the limit
	// of API servers. Conversions have one object.
	maxRequest = 7 << 20
	// overhead is the memory that a request needs besides its bytes.
	overhead = 16 << 10
	// copies is how often the bytes of a request are in memory while it is answered, and valueSize
	// is an estimate of the memory of a decoded value in bytes. Empty objects need the most.
	copies, valueSize = 3, 200
	// readTimeout bounds the time in which a request arrives. API servers wait as long for
	// the answer.
	readTimeout = 10 * time.Second
	// roomTimeout bounds the time in which a request waits for room. The end of a connection
	// isn't noticed before the request was read, and one that waits keeps back those behind it.
	roomTimeout = 5 * time.Second
)

// room is for the requests in progress of all webhooks.
type room struct {
	small, large lane
	wait         time.Duration // for either part of a lane
}

// lane is the room for small or for large requests.
type lane struct{ arriving, decoded *semaphore.Weighted }

func newRoom(wait time.Duration) *room {
	return &room{
		lane{semaphore.NewWeighted(maxArriving - largeArriving), semaphore.NewWeighted(maxDecoded - largeDecoded)},
		lane{semaphore.NewWeighted(largeArriving), semaphore.NewWeighted(largeDecoded)}, wait,
	}
}

// limit bounds the memory of the requests in progress, and the time in which each must get room
// and then arrive. What it hands over has been read, and has a bounded number of values.
func (r *room) limit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		size := request.ContentLength
		if size < 0 {
			size = maxRequest
		}
		if size > maxRequest {
			tooLarge(w, "it has more than 7 MiB")
			return
		}
		lane, most := r.small, int64(maxDecoded-largeDecoded)
		if size >= largeRequest {
			lane, most = r.large, largeDecoded
		}
		leave := enter(request.Context(), w, lane.arriving, size+overhead, r.wait)
		if leave == nil {
			return
		}
		defer leave()
		if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(readTimeout)); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		counter := jsonlimit.NewCounter(jsonlimit.Document)
		body := bytes.NewBuffer(make([]byte, 0, max(request.ContentLength, 0)+bytes.MinRead))
		_, err := body.ReadFrom(io.TeeReader(http.MaxBytesReader(w, request.Body, maxRequest), counter))
		var long *http.MaxBytesError
		var many *jsonlimit.Exceeded
		switch {
		case errors.As(err, &long):
			tooLarge(w, "it has more than 7 MiB")
			return
		case errors.As(err, &many):
			tooLarge(w, many.Error())
			return
		case err != nil:
			http.Error(w, "the request did not arrive: "+err.Error(), http.StatusBadRequest)
			return
		}
		// Decoders take anything else for YAML, whose values need several times as much.
		if !bytes.HasPrefix(bytes.TrimLeft(body.Bytes(), " \t\r\n"), []byte("{")) {
			http.Error(w, "the request is no JSON object", http.StatusBadRequest)
			return
		}
		need := min(copies*int64(body.Len())+valueSize*int64(counter.Values()), most)
		answered := enter(request.Context(), w, lane.decoded, need, r.wait)
		if answered == nil {
			return
		}
		defer answered()
		request.Body = io.NopCloser(body)
		next.ServeHTTP(w, request)
	})
}

// enter waits for room, and returns a function that leaves it. If there is none in time, it answers
// the request, and returns nil.
func enter(ctx context.Context, w http.ResponseWriter, s *semaphore.Weighted, size int64, wait time.Duration) (leave func()) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if s.Acquire(ctx, size) != nil {
		http.Error(w, "too many requests are in progress", http.StatusServiceUnavailable)
		return nil
	}
	return func() { s.Release(size) }
}

// tooLarge answers a request that exceeds a limit. The API server tells its client.
func tooLarge(w http.ResponseWriter, why string) {
	http.Error(w, "the request is too large: "+why, http.StatusRequestEntityTooLarge)
}
