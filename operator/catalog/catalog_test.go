package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/catalog"
)

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "platforms", Name: name}
}

func kind(name string) schema.GroupKind {
	return schema.GroupKind{Group: "example.com", Kind: name}
}

// entry returns the entry of a Transform for a kind.
func entry(transform, kind, digest string) *catalog.Entry {
	return &catalog.Entry{Transform: named(transform), Digest: digest, Names: v1alpha1.Names{Group: "example.com", Kind: kind}}
}

func TestWatch(t *testing.T) {
	c := catalog.New()
	c.Set(entry("web", "Web", "1"))
	ctx, cancel := context.WithCancel(t.Context())
	calls := make(chan string)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.Watch(ctx, func(kind schema.GroupKind, e *catalog.Entry) {
			digest := "none"
			if e != nil {
				digest = e.Digest
			}
			calls <- kind.Kind + " " + digest
		})
	}()
	want := func(texts ...string) {
		t.Helper()
		for _, text := range texts {
			if got := <-calls; got != text {
				t.Errorf("got %q; want %q", got, text)
			}
		}
	}
	want("Web 1")
	c.Set(entry("db", "Database", "1"))
	want("Database 1")
	c.Set(entry("db", "Database", "1")) // changes nothing
	c.Set(entry("db", "Database", "2"))
	want("Database 2")
	// The Transform names another kind now.
	c.Set(entry("db", "Store", "2"))
	want("Database none", "Store 2")
	if got := c.Of(named("db")); got == nil || got.Kind() != kind("Store") {
		t.Errorf("the Transform db has %v", got)
	}
	c.Delete(named("db"))
	c.Delete(named("db"))
	want("Store none")
	c.Delete(named("web"))
	want("Web none")
	cancel()
	<-ended
}

func TestEntries(t *testing.T) {
	c := catalog.New()
	for _, name := range []string{"web", "db"} {
		c.Set(entry(name, name, "1"))
	}
	var got []string
	for _, e := range c.Entries() {
		got = append(got, e.Names.Kind)
	}
	if diff := cmp.Diff([]string{"db", "web"}, got); diff != "" {
		t.Error(diff)
	}
	if c.Get(kind("web")) == nil || c.Get(kind("other")) != nil || c.Of(named("other")) != nil {
		t.Error("an entry is missing, or there is one too many")
	}
}

// TestConcurrent lets many goroutines change the catalog: watchers see the last state of
// each entry.
func TestConcurrent(t *testing.T) {
	const kinds, rounds = 8, 50
	c := catalog.New()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var writers, watchers sync.WaitGroup
	for range 3 {
		watchers.Go(func() {
			last := map[schema.GroupKind]bool{}
			ctx, done := context.WithCancel(ctx)
			defer done()
			c.Watch(ctx, func(kind schema.GroupKind, e *catalog.Entry) {
				if last[kind] = e != nil && e.Digest == fmt.Sprint(rounds-1); !last[kind] {
					return
				}
				if len(c.Entries()) == kinds && count(last) == kinds {
					done()
				}
			})
		})
	}
	for i := range kinds {
		writers.Go(func() {
			name := fmt.Sprint("kind", i)
			for round := range rounds {
				c.Set(entry(name, name, fmt.Sprint(round)))
				if round == rounds/2 {
					c.Delete(named(name))
				}
			}
		})
	}
	writers.Wait()
	watchers.Wait()
}

func count(set map[schema.GroupKind]bool) (n int) {
	for _, in := range set {
		if in {
			n++
		}
	}
	return n
}

// TestListing checks when the error of a listing is reported, and that an entry without a good version
// is shown to watchers only.
func TestListing(t *testing.T) {
	c := catalog.New()
	reported := 0
	c.OnCount(func(types.NamespacedName) { reported++ })
	c.Listed(named("web"), errors.New("ignored, because it isn't listed in the catalog"))
	e := entry("web", "Web", "1")
	e.NotReady = "NoSamples"
	c.Set(e)
	if c.Get(kind("Web")) != nil || c.Of(named("web")) != nil || len(c.Entries()) > 0 {
		t.Error("an entry without a good version is shown")
	}
	c.Set(entry("web", "Web", "1"))
	first := c.Listing(named("web"))
	if first.Err == nil || reported > 0 {
		t.Errorf("%v after %d reports", first, reported)
	}
	for i, step := range []struct {
		err  error
		want int
	}{{nil, 1}, {nil, 1}, {errors.New("a"), 2}, {errors.New("a"), 2}, {errors.New("b"), 3}, {nil, 4}} {
		before := c.Listing(named("web"))
		c.Listed(named("web"), step.err)
		now := c.Listing(named("web"))
		if now.Err != step.err && now.Err.Error() != step.err.Error() || reported != step.want {
			t.Errorf("step %d: %v after %d reports; want %v after %d", i, now.Err, reported, step.err, step.want)
		}
		if before.Err != nil && step.err != nil && now.Since != before.Since {
			t.Errorf("step %d: the time of the first error is lost", i)
		}
	}
	c.Delete(named("web"))
	if got := c.Listing(named("web")); got.Err != nil {
		t.Errorf("%v of a platform that isn't listed", got)
	}
}
