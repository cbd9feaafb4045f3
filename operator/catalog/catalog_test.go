package catalog_test

import (
	"context"
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
