package git

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pequod-io/pequod/modules/oci"
)

// lines records what a fetch reports.
type lines struct{ begun, ended, bytes atomic.Int64 }

func (l *lines) Begin(string)                        { l.begun.Add(1) }
func (l *lines) Advance(_ string, done, total int64) { l.bytes.Store(done + total) }
func (l *lines) End()                                { l.ended.Add(1) }

// cut is an answer that breaks off after some bytes.
type cut struct {
	http.ResponseWriter
	left int
}

func (c *cut) Write(p []byte) (int, error) {
	if len(p) >= c.left {
		_, _ = c.ResponseWriter.Write(p[:c.left])
		c.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	c.left -= len(p)
	return c.ResponseWriter.Write(p)
}

// TestRepeated checks that a fetch goes on after a server that is busy for a moment, and after
// a pack that breaks off in the middle.
func TestRepeated(t *testing.T) {
	var requests, packs atomic.Int64
	r := newRepository(t, func(git http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case requests.Add(1) == 1:
				http.Error(w, "busy", http.StatusServiceUnavailable)
				return
			case strings.HasSuffix(r.URL.Path, "/git-upload-pack") && packs.Add(1) == 1:
				w = &cut{w, 150}
			}
			git.ServeHTTP(w, r)
		})
	})
	var shown lines
	s, err := Fetch(t.Context(), parse(t, r.url, "main"), Options{Progress: &shown})
	if err != nil {
		t.Fatal(err)
	}
	if s.Commit != r.tip || packs.Load() != 2 {
		t.Errorf("commit %s after %d packs", s.Commit, packs.Load())
	}
	if shown.begun.Load() != 1 || shown.ended.Load() != 1 || shown.bytes.Load() < 150 {
		t.Errorf("progress: %d begun, %d ended, %d bytes", shown.begun.Load(), shown.ended.Load(), shown.bytes.Load())
	}
}

// TestLimited checks the error about a server that demands a longer wait than is reasonable.
func TestLimited(t *testing.T) {
	r := newRepository(t, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
		})
	})
	ref := parse(t, r.url, "main")
	_, err := Fetch(t.Context(), ref, Options{})
	wantError(t, err, oci.RateLimited, ref.host()+" limits the number of requests; try again in 1h0m0s")
}
