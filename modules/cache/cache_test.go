package cache

import (
	"bytes"
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

// TestDamaged checks that an entry which is not the content is downloaded again.
func TestDamaged(t *testing.T) {
	const data = "the content"
	for name, damage := range map[string]func(t *testing.T, file string){
		"truncated": func(t *testing.T, file string) { check(t, os.Truncate(file, 3)) },
		"empty":     func(t *testing.T, file string) { check(t, os.Truncate(file, 0)) },
		"changed":   func(t *testing.T, file string) { check(t, os.WriteFile(file, []byte("the c0ntent"), 0o600)) },
		"link out":  func(t *testing.T, file string) { replaceByLink(t, file, outside(t, data)) },
		"dangling":  func(t *testing.T, file string) { replaceByLink(t, file, "nowhere") },
		"directory": func(t *testing.T, file string) {
			check(t, os.Remove(file))
			check(t, os.MkdirAll(filepath.Join(file, "x"), 0o700))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var s source
			s.get(t, Open(Options{Dir: dir}), data)
			damage(t, blobFile(dir, data))
			c := Open(Options{Dir: dir, Warn: func(err error) { t.Error(err) }})
			s.get(t, c, data)
			s.get(t, c, data)
			if s.fetched != 2 {
				t.Errorf("%d downloads, not 2", s.fetched)
			}
			info, err := os.Lstat(blobFile(dir, data))
			if err != nil || !info.Mode().IsRegular() {
				t.Errorf("the entry is %v, %v", info, err)
			}
		})
	}
}

// check fails the test on an error.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// outside returns a file with data that is not in a cache.
func outside(t *testing.T, data string) string {
	file := filepath.Join(t.TempDir(), "file")
	check(t, os.WriteFile(file, []byte(data), 0o600))
	return file
}

func replaceByLink(t *testing.T, file, target string) {
	check(t, os.Remove(file))
	check(t, os.Symlink(target, file))
}

// TestLinks checks that nothing is written or removed through links in the
// directory.
func TestLinks(t *testing.T) {
	for _, part := range []string{"blobs", blobs, locks, inUse, tmp, records} {
		t.Run(part, func(t *testing.T) {
			dir, target := t.TempDir(), t.TempDir()
			precious := filepath.Join(target, hexOf([]byte("precious")))
			check(t, os.WriteFile(precious, []byte("precious"), 0o600))
			long := time.Now().Add(-1000 * time.Hour)
			check(t, os.Chtimes(precious, long, long))
			check(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, part)), 0o700))
			check(t, os.Symlink(target, filepath.Join(dir, part)))
			var s source
			warnings := 0
			c := Open(Options{Dir: dir, MaxBytes: 1, MaxAge: time.Hour, Warn: func(error) { warnings++ }})
			s.get(t, c, "content")
			c.Remember("key", "value")
			c.Evict(t.Context())
			c.Close()
			entries, err := os.ReadDir(target)
			check(t, err)
			if len(entries) != 1 || warnings != 1 {
				t.Errorf("%d files outside, %d warnings", len(entries), warnings)
			}
		})
	}
}

// TestMismatch checks that content which isn't the expected one is neither returned
// nor stored.
func TestMismatch(t *testing.T) {
	for name, sent := range map[string]string{"short": "conten", "long": "content and more", "other": "c0ntent"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c := Open(Options{Dir: dir})
			var s source
			for _, size := range []int64{7, -1} {
				data, err := c.Get(t.Context(), digestOf("content"), size, s.serve(sent))
				var mismatch *MismatchError
				if !errors.As(err, &mismatch) || mismatch.Digest != digestOf("content") {
					t.Errorf("Get() = %q, %v", data, err)
				}
			}
			if c.Stats().Entries != 0 || s.fetched != 2 {
				t.Errorf("%+v after %d downloads", c.Stats(), s.fetched)
			}
		})
	}
}

func TestRefusedDigests(t *testing.T) {
	c := Open(Options{Dir: t.TempDir()})
	for _, digest := range []string{
		"", "sha256:", "sha256:../../../../etc/passwd", "md5:" + strings.Repeat("a", 64),
		"sha256:" + strings.Repeat("A", 64), "sha256:" + strings.Repeat("a", 63), "sha512:" + strings.Repeat("a", 128),
	} {
		if _, err := c.Get(t.Context(), digest, -1, offline(t)); err == nil {
			t.Errorf("%q is accepted", digest)
		}
		if c.Has(digest) {
			t.Errorf("Has(%q)", digest)
		}
	}
	if _, err := c.Get(t.Context(), digestOf("a"), maxSize+1, offline(t)); err == nil {
		t.Error("any size is accepted")
	}
}

// TestUnusable checks that Get works, with one warning, where the directory doesn't.
func TestUnusable(t *testing.T) {
	for name, dir := range map[string]func(t *testing.T) string{
		"file":       func(t *testing.T) string { return outside(t, "") },
		"below file": func(t *testing.T) string { return filepath.Join(outside(t, ""), "cache") },
		"world-writable": func(t *testing.T) string {
			dir := t.TempDir()
			check(t, os.Chmod(dir, 0o777))
			return dir
		},
		// What fails is the write, as on a full disk.
		"unwritable": func(t *testing.T) string {
			dir := t.TempDir()
			Open(Options{Dir: dir}).directory().close()
			check(t, os.Remove(filepath.Join(dir, tmp)))
			check(t, os.WriteFile(filepath.Join(dir, tmp), nil, 0o600))
			return dir
		},
	} {
		t.Run(name, func(t *testing.T) {
			var warnings []error
			c := Open(Options{Dir: dir(t), Warn: func(err error) { warnings = append(warnings, err) }})
			var s source
			s.get(t, c, "a")
			s.get(t, c, "b")
			s.get(t, c, "a")
			c.Remember("key", "value")
			if _, ok := c.Recall("key"); ok || c.Has(digestOf("a")) {
				t.Error("something was kept")
			}
			c.Close()
			if s.fetched != 3 || len(warnings) != 1 {
				t.Errorf("%d downloads, warnings %v", s.fetched, warnings)
			}
		})
	}
	var s source
	c := Open(Options{Warn: func(err error) { t.Error(err) }})
	s.get(t, c, "a")
	c.Close()
}

// TestReadOnly checks that content of a directory that cannot be written is used
// without a warning.
func TestReadOnly(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root can write everywhere")
	}
	dir := t.TempDir()
	var s source
	s.get(t, Open(Options{Dir: dir}), "a")
	check(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, _ error) error {
		if d.IsDir() {
			return os.Chmod(path, 0o500)
		}
		return nil
	}))
	t.Cleanup(func() {
		check(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, _ error) error { return os.Chmod(path, 0o700) }))
	})
	c := Open(Options{Dir: dir, Warn: func(err error) { t.Error(err) }})
	s.get(t, c, "a")
	if s.fetched != 1 {
		t.Errorf("%d downloads, not 1", s.fetched)
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

func TestEvictAge(t *testing.T) {
	dir, clock := t.TempDir(), newClock()
	options := Options{Dir: dir, MaxAge: 10 * time.Hour, Clock: clock.time}
	var s source
	c := Open(options)
	s.get(t, c, "used")
	s.get(t, c, "unused")
	c.Close()
	clock.pass(8 * time.Hour)
	c = Open(options)
	s.get(t, c, "used")
	c.Close()
	clock.pass(8 * time.Hour)
	c = Open(options)
	s.get(t, c, "new")
	if !c.Has(digestOf("used")) || c.Has(digestOf("unused")) {
		t.Error("the time of the last use doesn't decide")
	}
	if got, want := c.Stats(), (Stats{Misses: 1, Evictions: 1, Entries: 2, SizeBytes: 7}); got != want {
		t.Errorf("Stats() = %+v, not %+v", got, want)
	}
}

// TestEvictSize checks that the least recently used content is evicted first, and
// what a cache uses never.
func TestEvictSize(t *testing.T) {
	dir, clock := t.TempDir(), newClock()
	options := Options{Dir: dir, MaxBytes: 25, Clock: clock.time}
	content := func(name string) string { return strings.Repeat(name, 10) }
	var s source
	user := Open(options)
	s.get(t, user, content("a"))
	clock.pass(time.Hour)
	other := Open(options)
	s.get(t, other, content("b"))
	other.Close()
	clock.pass(time.Hour)
	c := Open(options)
	s.get(t, c, content("c"))
	if !c.Has(digestOf(content("a"))) || c.Has(digestOf(content("b"))) || !c.Has(digestOf(content("c"))) {
		t.Error("not the least recently used content was evicted")
	}
	user.Close()
	s.get(t, c, content("d"))
	if c.Has(digestOf(content("a"))) {
		t.Error("content that is not in use anymore stays")
	}
}

// TestEvictLeft checks that what killed processes leave is removed, and what is new
// is not.
func TestEvictLeft(t *testing.T) {
	dir, clock := t.TempDir(), newClock()
	c := Open(Options{Dir: dir, Clock: clock.time})
	c.directory()
	for _, name := range []string{tmp + "/1-a", locks + "/a.lock", tmp + "/1-b", locks + "/b.lock", locks + "/users.lock"} {
		file := filepath.Join(dir, name)
		check(t, os.WriteFile(file, bytes.Repeat([]byte("x"), 10), 0o600))
		used := clock.now
		if !strings.Contains(name, "b") {
			used = used.Add(-25 * time.Hour)
		}
		check(t, os.Chtimes(file, used, used))
	}
	c.Evict(t.Context())
	left, err := filepath.Glob(filepath.Join(dir, "[lt]*", "*"))
	check(t, err)
	for i := range left {
		left[i] = strings.TrimPrefix(left[i], dir+"/")
	}
	if got, want := strings.Join(left, " "), "locks/b.lock locks/users.lock tmp/1-b"; got != want {
		t.Errorf("left: %s, not %s", got, want)
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
