package cache

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// clock is a clock that tests set.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)} }

func (c *clock) time() time.Time { return c.now }

func (c *clock) pass(d time.Duration) { c.now = c.now.Add(d) }

// digestOf returns the digest of data.
func digestOf(data string) string { return "sha256:" + hexOf([]byte(data)) }

// blobFile returns the file of data in the cache in dir.
func blobFile(dir, data string) string { return filepath.Join(dir, blobs, hexOf([]byte(data))) }

// source is content that can be downloaded, and counts the downloads.
type source struct {
	mu      sync.Mutex
	fetched int
}

// get gets data from c, and from s if c lacks it.
func (s *source) get(t *testing.T, c *Cache, data string) {
	t.Helper()
	got, err := c.Get(t.Context(), digestOf(data), int64(len(data)), s.serve(data))
	if err != nil || string(got) != data {
		t.Fatalf("Get(%q) = %q, %v", data, got, err)
	}
}

func (s *source) serve(data string) Fetch {
	return func(context.Context) (io.ReadCloser, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.fetched++
		return io.NopCloser(strings.NewReader(data)), nil
	}
}

// offline is a Fetch that must not be called.
func offline(t *testing.T) Fetch {
	return func(context.Context) (io.ReadCloser, error) {
		t.Error("fetch was called")
		return nil, errors.New("no network")
	}
}

func TestGet(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	var s source
	s.get(t, Open(Options{Dir: dir}), "a")
	c := Open(Options{Dir: dir})
	s.get(t, c, "a")
	s.get(t, c, "b")
	if s.fetched != 2 {
		t.Errorf("%d downloads, not 2", s.fetched)
	}
	if got, want := c.Stats(), (Stats{Hits: 1, Misses: 1, Entries: 2, SizeBytes: 2}); got != want {
		t.Errorf("Stats() = %+v, not %+v", got, want)
	}
	if !c.Has(digestOf("a")) || c.Has(digestOf("c")) {
		t.Error("Has is wrong")
	}
	// The digest of the content decides, and a wrong size is an error also on a hit.
	var mismatch *MismatchError
	if _, err := c.Get(t.Context(), digestOf("a"), 7, offline(t)); !errors.As(err, &mismatch) {
		t.Errorf("a hit with another size: %v", err)
	}
	for _, part := range []string{".", "blobs", blobs, locks, inUse, tmp, records} {
		info, err := os.Stat(filepath.Join(dir, part))
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s has mode %v, %v", part, info.Mode(), err)
		}
	}
	c.Close()
	for _, part := range []string{tmp, locks} {
		entries, err := os.ReadDir(filepath.Join(dir, part))
		for _, e := range entries {
			if e.Name() != "users.lock" {
				t.Errorf("%s/%s is left", part, e.Name())
			}
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// TestFailedFetch checks that errors of the download are returned as they are and
// that the next call tries again.
func TestFailedFetch(t *testing.T) {
	c := Open(Options{Dir: t.TempDir()})
	broken := errors.New("broken")
	for _, fetch := range []Fetch{
		func(context.Context) (io.ReadCloser, error) { return nil, broken },
		func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(strings.NewReader("con"), &failing{broken})), nil
		},
	} {
		if _, err := c.Get(t.Context(), digestOf("content"), 7, fetch); !errors.Is(err, broken) {
			t.Errorf("error %v", err)
		}
	}
	var s source
	s.get(t, c, "content")
}

// failing is a reader with an error.
type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

// TestWaiting checks that waiting for another process ends with the context, and
// when that process takes too long.
func TestWaiting(t *testing.T) {
	dir := t.TempDir()
	started, finish := make(chan struct{}), make(chan struct{})
	done := make(chan error)
	go func() {
		_, err := Open(Options{Dir: dir}).Get(context.Background(), digestOf("content"), 7, func(context.Context) (io.ReadCloser, error) {
			close(started)
			<-finish
			return io.NopCloser(strings.NewReader("content")), nil
		})
		done <- err
	}()
	<-started
	ctx, cancel := context.WithCancelCause(t.Context())
	waiting := make(chan error)
	go func() {
		_, err := Open(Options{Dir: dir}).Get(ctx, digestOf("content"), 7, offline(t))
		waiting <- err
	}()
	cancel(nil)
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %v", err)
	}
	impatient := Open(Options{Dir: dir})
	impatient.patience = 1
	var s source
	s.get(t, impatient, "content")
	if s.fetched != 1 {
		t.Errorf("%d downloads, not 1", s.fetched)
	}
	close(finish)
	check(t, <-done)
}

func TestRecords(t *testing.T) {
	dir, clock := t.TempDir(), newClock()
	c := Open(Options{Dir: dir, MaxAge: time.Hour, Clock: clock.time})
	c.Remember("oci://host/repo:v1", "sha256:1")
	c.Remember("oci://host/repo:v1", "sha256:2")
	if v, ok := Open(Options{Dir: dir}).Recall("oci://host/repo:v1"); v != "sha256:2" || !ok {
		t.Errorf("Recall() = %q, %v", v, ok)
	}
	if v, ok := c.Recall("oci://host/repo:v2"); ok {
		t.Errorf("Recall() of an unknown key = %q", v)
	}
	files, err := filepath.Glob(filepath.Join(dir, records, "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	for _, damaged := range []string{"", "oci://host/repo:v1", "oci://host/repo:v1\nsha256:2", "oci://host/repo:v3\nsha256:2\n"} {
		check(t, os.WriteFile(files[0], []byte(damaged), 0o600))
		if v, ok := c.Recall("oci://host/repo:v1"); ok {
			t.Errorf("%q is taken for %q", damaged, v)
		}
	}
	c.Remember("oci://host/repo:v1", "sha256:3")
	clock.pass(2 * time.Hour)
	c.Evict(t.Context())
	if v, ok := c.Recall("oci://host/repo:v1"); ok {
		t.Errorf("%q was not evicted", v)
	}
}

func TestFromEnvironment(t *testing.T) {
	env := map[string]string{"PEQUOD_CACHE_DIR": "/x", "PEQUOD_CACHE_SIZE_MB": "2", "PEQUOD_CACHE_TTL_HOURS": "3"}
	getenv := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	o, err := FromEnvironment(getenv)
	if err != nil || o.Dir != filepath.FromSlash("/x/modules") || o.MaxBytes != 2<<20 || o.MaxAge != 3*time.Hour {
		t.Errorf("%+v, %v", o, err)
	}
	for _, wrong := range []string{"x", "-1", "1.5", "99999999999999999999", "10000000000000"} {
		env["PEQUOD_CACHE_SIZE_MB"] = wrong
		if _, err := FromEnvironment(getenv); err == nil || !strings.Contains(err.Error(), "PEQUOD_CACHE_SIZE_MB") {
			t.Errorf("%s: error %v", wrong, err)
		}
	}
	env = nil
	if o, err := FromEnvironment(getenv); err != nil || o.MaxBytes != 1<<30 || o.MaxAge != 720*time.Hour {
		t.Errorf("%+v, %v", o, err)
	}
}
