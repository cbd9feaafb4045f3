package pin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/modules/cache"
	"github.com/pequod-io/pequod/modules/lock"
	"github.com/pequod-io/pequod/modules/oci"
)

// server is a registry that counts requests.
type server struct {
	host     string
	requests atomic.Int64
}

func newServer(t *testing.T) *server {
	s := &server{}
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	s.host = strings.TrimPrefix(h.URL, "http://")
	return s
}

// push writes a random artifact and returns its digest.
func (s *server) push(t *testing.T, tag string) string {
	t.Helper()
	img, err := random.Image(100, 2)
	check(t, err)
	check(t, New(Options{}).client(t).Write(t.Context(), s.ref(tag, ""), img))
	h, err := img.Digest()
	check(t, err)
	return h.String()
}

func (s *server) ref(tag, digest string) oci.Ref {
	return oci.Ref{Host: s.host, Repository: "acme/web", Tag: tag, Digest: digest}
}

// client returns a client with the store and the transport of p.
func (p *Pins) client(t *testing.T) *oci.Client {
	c, err := oci.New(oci.Options{Keychain: authn.NewMultiKeychain(), Blobs: p.Blobs(), Transport: p.Transport()})
	check(t, err)
	return c
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// read reads an artifact with all of its layers, and returns its digest.
func (p *Pins) read(t *testing.T, ref oci.Ref) (string, error) {
	t.Helper()
	return read(t.Context(), p.Roots(p.client(t)), ref)
}

func read(ctx context.Context, a oci.Artifacts, ref oci.Ref) (string, error) {
	img, err := a.Image(ctx, ref)
	if err != nil {
		return "", err
	}
	layers, err := img.Layers()
	if err != nil {
		return "", err
	}
	for _, l := range layers {
		r, err := l.Compressed()
		if err != nil {
			return "", err
		}
		if err := r.Close(); err != nil {
			return "", err
		}
	}
	h, err := img.Digest()
	return h.String(), err
}

// lockOf returns a lock with one root.
func lockOf(ref oci.Ref, digest string) *lock.File {
	return &lock.File{Modules: []lock.Module{{Path: "example.com/web@v1", Version: "v1.0.0", Ref: ref.String(), Digest: digest}}}
}

// wantLocked checks that err is a problem about the lock with a text.
func wantLocked(t *testing.T, err error, want string) {
	t.Helper()
	var ps problem.List
	if !errors.As(err, &ps) || ps[0].Rule != problem.RuleLock || err.Error() != want {
		t.Errorf("error\n  %v, not\n  %s", err, want)
	}
}

// TestWarmCache checks that a locked artifact in the cache needs no request, and that
// one without a lock needs the network only for its tag.
func TestWarmCache(t *testing.T) {
	s, c := newServer(t), cache.Open(cache.Options{Dir: t.TempDir()})
	digest := s.push(t, "v1.0.0")
	locked := New(Options{Lock: lockOf(s.ref("v1.0.0", ""), digest), Locked: true, Cache: c})
	if got, err := locked.read(t, s.ref("v1.0.0", "")); got != digest || err != nil {
		t.Fatal(got, err)
	}
	for name, p := range map[string]*Pins{
		"locked":             locked,
		"locked and offline": New(Options{Lock: locked.options.Lock, Locked: true, Offline: true, Cache: c}),
	} {
		before := s.requests.Load()
		if got, err := p.read(t, s.ref("v1.0.0", "")); got != digest || err != nil {
			t.Errorf("%s: %s, %v", name, got, err)
		}
		if n := s.requests.Load() - before; n != 0 {
			t.Errorf("%s: %d requests", name, n)
		}
	}
}

// TestOffline checks that --offline uses what the cache has seen, makes no request and
// reports what is missing.
func TestOffline(t *testing.T) {
	s, c := newServer(t), cache.Open(cache.Options{Dir: t.TempDir()})
	digest := s.push(t, "v1.0.0")
	other := s.push(t, "v1.1.0")
	online, offline := New(Options{Cache: c}), New(Options{Cache: c, Offline: true})
	if got, err := online.read(t, s.ref("v1.0.0", "")); got != digest || err != nil {
		t.Fatal(got, err)
	}
	before := s.requests.Load()
	if got, err := offline.read(t, s.ref("v1.0.0", "")); got != digest || err != nil {
		t.Errorf("a tag that was seen: %s, %v", got, err)
	}
	want := "not in the cache, and --offline allows no requests; run the command once without --offline"
	for _, ref := range []oci.Ref{s.ref("v1.1.0", ""), s.ref("v1.1.0", other), s.ref("", other)} {
		if got, err := offline.read(t, ref); err == nil || err.Error() != ref.String()+": "+want {
			t.Errorf("%s: %s, %v", ref, got, err)
		}
	}
	if _, err := offline.Roots(offline.client(t)).Tags(t.Context(), s.ref("", "")); !errors.Is(err, errOffline) {
		t.Errorf("Tags: %v", err)
	}
	// The promise doesn't depend on the wrapper.
	if _, err := read(t.Context(), offline.client(t), s.ref("v1.1.0", "")); !errors.Is(err, errOffline) {
		t.Errorf("without the wrapper: %v", err)
	}
	if n := s.requests.Load() - before; n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestRetagged(t *testing.T) {
	s := newServer(t)
	ref := s.ref("v1.0.0", "")
	digest := s.push(t, "v1.0.0")
	file := lockOf(ref, digest)
	warm := cache.Open(cache.Options{Dir: t.TempDir()})
	if _, err := New(Options{Lock: file, Cache: warm}).read(t, ref); err != nil {
		t.Fatal(err)
	}
	moved := s.push(t, "v1.0.0")
	want := fmt.Sprintf("pequod.lock: %s was moved: it is %s now, and %s is locked; find out why; "+
		"'pequod module lock --upgrade' accepts the new digest", ref, moved, digest)
	for name, o := range map[string]Options{
		"cold cache": {Cache: cache.Open(cache.Options{Dir: t.TempDir()})},
		"no cache":   {},
		"fresh":      {Cache: warm, Fresh: true},
	} {
		t.Run(name, func(t *testing.T) {
			o.Lock, o.LockName, o.Locked = file, "pequod.lock", true
			p := New(o)
			_, err := p.read(t, ref)
			wantLocked(t, err, want)
			_, err = read(t.Context(), p.Imports(p.client(t)), s.ref("v1.0.0", digest))
			wantLocked(t, err, want)
		})
	}
	// The cache has the locked bytes: nothing asks the registry.
	if got, err := New(Options{Lock: file, Locked: true, Cache: warm}).read(t, ref); got != digest || err != nil {
		t.Errorf("with a warm cache: %s, %v", got, err)
	}
	// A user's own digest decides over the tag.
	if got, err := New(Options{}).read(t, s.ref("v1.0.0", digest)); got != digest || err != nil {
		t.Errorf("with a digest: %s, %v", got, err)
	}
}

func TestRefused(t *testing.T) {
	s := newServer(t)
	digest, other := s.push(t, "v1.0.0"), s.push(t, "v1.1.0")
	file := lockOf(s.ref("v1.0.0", ""), digest)
	p := New(Options{Lock: file, LockName: "../pequod.lock", Locked: true})
	before := s.requests.Load()
	_, err := p.read(t, s.ref("v1.1.0", ""))
	wantLocked(t, err, fmt.Sprintf("../pequod.lock: %s is not locked; add it with 'pequod module lock'", s.ref("v1.1.0", "")))
	_, err = p.read(t, s.ref("v1.1.0", other))
	wantLocked(t, err, fmt.Sprintf("../pequod.lock: %s is not locked; add it with 'pequod module lock'", s.ref("v1.1.0", "")))
	_, err = p.read(t, s.ref("v1.0.0", other))
	wantLocked(t, err, fmt.Sprintf("../pequod.lock: %s: %s is locked, not %s", s.ref("v1.0.0", ""), digest, other))
	_, err = p.Import("example.com/k8s@v1", "v1.2.0")
	wantLocked(t, err, "../pequod.lock: example.com/k8s@v1.2.0 is not locked; add it with 'pequod module lock'")
	_, err = p.Latest("example.com/k8s@v1")
	wantLocked(t, err, "../pequod.lock: example.com/k8s@v1 is not locked; add it with 'pequod module lock'")
	_, err = New(Options{Locked: true}).read(t, s.ref("v1.0.0", ""))
	wantLocked(t, err, s.ref("v1.0.0", "").String()+": there is no pequod.lock, which --locked and CI=true demand; write it with 'pequod module lock'")
	if n := s.requests.Load() - before; n != 0 {
		t.Errorf("%d requests for refused modules", n)
	}
	if got, err := p.Import("example.com/web@v1", "v1.0.0"); got != digest || err != nil {
		t.Errorf("Import() of a root = %s, %v", got, err)
	}
}
