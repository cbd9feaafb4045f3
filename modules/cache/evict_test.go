package cache

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

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
