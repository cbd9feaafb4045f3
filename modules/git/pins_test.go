package git

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pequod-io/pequod/modules/cache"
	"github.com/pequod-io/pequod/modules/oci"
)

var errUnlocked = errors.New("not locked")

// pins lock references by their revisions.
type pins map[string]Target

func (p pins) Target(ref Ref) (Target, error) {
	t, ok := p[ref.Revision]
	if !ok {
		return t, errUnlocked
	}
	return t, nil
}

func (p pins) Moved(_ Ref, locked, now string) error {
	return &oci.Error{Message: fmt.Sprintf("moved from %s to %s", locked, now)}
}

func (p pins) Check(Ref, *Snapshot) error { return nil }

// counted is a repository whose server counts requests.
func counted(t *testing.T) (*repository, *atomic.Int64) {
	var requests atomic.Int64
	r := newRepository(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			next.ServeHTTP(w, r)
		})
	})
	return r, &requests
}

// content reads a file of a revision and returns it with the version.
func content(t *testing.T, url, revision string, o Options) string {
	t.Helper()
	s, err := Fetch(t.Context(), parse(t, url, revision), o)
	if err != nil {
		return err.Error()
	}
	data, err := s.Files(func(name string) string { return name }).ReadFile("web/main.cue")
	return fmt.Sprint(s.Version(), " ", string(data), " ", err)
}

// TestKept checks that a locked commit is read from the cache without a request, that
// --offline without a lock uses what was seen last, and that a commit is downloaded once.
func TestKept(t *testing.T) {
	r, requests := counted(t)
	c := cache.Open(cache.Options{Dir: t.TempDir()})
	tag, branch := "v1.1.0 new <nil>", r.tip[:12]+" new <nil>"
	for _, revision := range []string{"v1.1.0", "main"} { // the tag is annotated
		want := map[string]string{"v1.1.0": tag, "main": branch}[revision]
		if got := content(t, r.url, revision, Options{Cache: c}); got != want {
			t.Errorf("%s: %s", revision, got)
		}
		before := requests.Load()
		locked := pins{revision: Target{Commit: r.tip}}
		if revision == "v1.1.0" {
			locked[revision] = Target{r.tip, revision}
		}
		for name, o := range map[string]Options{
			"locked": {Cache: c, Pins: locked}, "offline": {Cache: c, Offline: true}, "both": {Cache: c, Offline: true, Pins: locked},
		} {
			if got := content(t, r.url, revision, o); got != want {
				t.Errorf("%s, %s: %s", name, revision, got)
			}
		}
		if n := requests.Load() - before; n != 0 {
			t.Errorf("%s: %d requests", revision, n)
		}
	}
	// Both requests of the first fetch, and one for the tags and branches in the second.
	if n := requests.Load(); n != 3 {
		t.Errorf("%d requests; want 3", n)
	}
	got := content(t, r.url, "v1.0.0", Options{Cache: c, Offline: true})
	if !strings.Contains(got, "not in the cache") {
		t.Errorf("offline, not seen: %s", got)
	}
}

// TestMoved moves a locked tag and a locked branch. A branch is still read at its locked
// commit, if the server gives it.
func TestMoved(t *testing.T) {
	r, _ := counted(t)
	locked := pins{"v1.0.0": {r.old, "v1.0.0"}, "main": {Commit: r.tip}, "next": {Commit: r.old}}
	for revision, want := range map[string]string{"v1.0.0": "v1.0.0 old <nil>", "main": r.tip[:12] + " new <nil>", "next": r.old[:12] + " old <nil>"} {
		if got := content(t, r.url, revision, Options{Pins: locked}); got != want {
			t.Errorf("%s: %s", revision, got)
		}
	}
	write(t, r.dir, "web/main.cue", "newest")
	r.commit(t)
	newest := r.git(t, "rev-parse", "HEAD")
	r.git(t, "tag", "-f", "v1.0.0")
	r.git(t, "tag", "-d", "v1.1.0")
	r.git(t, "branch", "-D", "next")
	expect := func(revision, want string, o Options) {
		t.Helper()
		o.Pins = locked
		if got := content(t, r.url, revision, o); !strings.Contains(got, want) {
			t.Errorf("%s: %s\nwant %s", revision, got, want)
		}
	}
	moved := fmt.Sprintf("moved from %s to %s", r.old, newest)
	movedBranch := fmt.Sprintf("moved from %s to %s", r.tip, newest)
	expect("v1.0.0", moved, Options{})
	expect("main", movedBranch, Options{}) // the server gives no other commits
	expect("next", "no tag or branch ends at the commit", Options{})
	r.git(t, "config", "uploadpack.allowReachableSHA1InWant", "true")
	expect("v1.0.0", moved, Options{})
	expect("main", r.tip[:12]+" new <nil>", Options{})
	expect("next", r.old[:12]+" old <nil>", Options{})
	expect("main", movedBranch, Options{Fresh: true})
}

// TestDamagedPack checks that a pack in the cache without the locked commit is not used.
func TestDamagedPack(t *testing.T) {
	r, _ := counted(t)
	c := cache.Open(cache.Options{Dir: t.TempDir()})
	if got := content(t, r.url, "v1.0.0", Options{Cache: c}); got != "v1.0.0 old <nil>" {
		t.Fatal(got)
	}
	digest, _ := c.Recall("pack " + r.old)
	c.Remember("pack "+r.tip, digest)
	if got := content(t, r.url, "main", Options{Cache: c, Pins: pins{"main": {Commit: r.tip}}}); got != r.tip[:12]+" new <nil>" {
		t.Error(got)
	}
}
