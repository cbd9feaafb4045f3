package artifact

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/pequod-io/pequod/internal/lazyregexp"
)

// The limits of the server.
const (
	// maxRequests is the number of requests in flight. Each may hold an archive in memory.
	maxRequests = 16
	// maxOfClient is the number of requests in flight from one address, so that no client takes the
	// room of the others.
	maxOfClient = maxRequests / 2
	// A response takes at most graceTime, and one second for each minRate bytes.
	graceTime, minRate = 5 * time.Second, 512 << 10
	// maxCached limits the archives in memory between requests, in bytes.
	maxCached = 32 << 20
	// unknownRate is the number of requests to the API server per second for archives that
	// informers don't show: a client may be faster than the informer of this replica.
	unknownRate, unknownBurst = 5, 20
	// readTimeout limits reading an archive from the API server.
	readTimeout = 30 * time.Second
)

// Server returns the server of archives. The caller gives it a listener.
func Server(store *Store, log logr.Logger) *http.Server {
	return &http.Server{
		Handler: newHandler(store, log), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 2 * time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
	}
}

// handler serves the archives of a store.
type handler struct {
	store    *Store
	log      logr.Logger
	archives *cache
	unknown  flowcontrol.PassiveRateLimiter

	mu      sync.Mutex
	running map[string]int // requests in flight by the address of the client
	all     int            // their sum
}

// newHandler returns the handler of [Server].
func newHandler(store *Store, log logr.Logger) http.Handler {
	h := &handler{
		store: store, log: log, archives: newCache(maxCached), running: map[string]int{},
		unknown: flowcontrol.NewTokenBucketPassiveRateLimiter(unknownRate, unknownBurst),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /artifacts/{namespace}/{name}/{file}", h.serve) // and HEAD
	return mux
}

// fileName matches the names of archives.
var fileName = lazyregexp.New(`^([0-9a-f]{64})\.tar\.gz$`)

// serve answers one request. The status is 503 if the archive can't be read now, so that Flux tries
// again.
func (h *handler) serve(w http.ResponseWriter, r *http.Request) {
	file := fileName().FindStringSubmatch(r.PathValue("file"))
	if file == nil {
		http.NotFound(w, r)
		return
	}
	client, _, _ := net.SplitHostPort(r.RemoteAddr) // never fails: the server has made it
	if !h.enter(client) {
		unavailable(w, "too many requests")
		return
	}
	defer h.leave(client)
	of, digest := types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}, "sha256:"+file[1]
	ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
	defer cancel()
	archive, err := h.archive(ctx, of, digest)
	switch {
	case apierrors.IsNotFound(err):
		http.NotFound(w, r)
		return
	case err != nil:
		// Clients can't fill the log: what they guess isn't logged.
		if r.Context().Err() == nil && !apierrors.IsTooManyRequests(err) {
			h.log.Error(err, "An archive can't be read", "instanceSource", of, "digest", digest)
		}
		unavailable(w, "the archive can't be read now")
		return
	}
	w.Header().Set("Content-Type", "application/gzip")
	w.Header().Set("ETag", `"`+digest+`"`)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	// The deadline ends the response to a slow reader. The server resets it for the next request.
	limit := graceTime + time.Duration(len(archive))*time.Second/minRate
	if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(limit)); err != nil {
		h.log.Error(err, "The time of a response can't be limited")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(archive))
}

// enter reports whether a request of a client may go on, which then calls leave.
func (h *handler) enter(client string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all == maxRequests || h.running[client] == maxOfClient {
		return false
	}
	h.all++
	h.running[client]++
	return true
}

func (h *handler) leave(client string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all--
	if h.running[client]--; h.running[client] == 0 {
		delete(h.running, client)
	}
}

// unavailable writes an answer after which the client should try again.
func unavailable(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, why, http.StatusServiceUnavailable)
}

// archive returns an archive from memory or the store.
func (h *handler) archive(ctx context.Context, of types.NamespacedName, digest string) ([]byte, error) {
	known, err := h.store.shows(ctx, of, digest)
	if err != nil {
		return nil, err
	}
	if archive := h.archives.get(digest); archive != nil && known {
		return archive, nil
	}
	if !known && !h.unknown.TryAccept() {
		return nil, apierrors.NewTooManyRequests("too many requests for archives that don't exist", 1)
	}
	archive, err := h.store.Read(ctx, of, digest)
	if err == nil {
		h.archives.put(digest, archive)
	}
	return archive, err
}
