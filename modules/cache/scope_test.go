package cache

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"
)

// TestScope checks that a scope finds only what was downloaded with it, although the
// directory has the content of all.
func TestScope(t *testing.T) {
	dir := t.TempDir()
	now := newClock()
	open := func(scope string) *Cache {
		return Open(Options{Dir: dir, Scope: scope, Clock: now.time, MaxAge: time.Hour})
	}
	s := &source{}
	a, b := open("a"), open("b")
	s.get(t, a, "secret")
	s.get(t, a, "secret")
	if s.fetched != 1 {
		t.Errorf("%d downloads with one scope", s.fetched)
	}
	if !a.Has(digestOf("secret")) || b.Has(digestOf("secret")) {
		t.Error("Has does not know scopes")
	}
	refused := errors.New("unauthorized")
	_, err := b.Get(t.Context(), digestOf("secret"), -1, func(context.Context) (io.ReadCloser, error) { return nil, refused })
	if !errors.Is(err, refused) {
		t.Errorf("content of another scope: %v", err)
	}
	s.get(t, b, "secret")
	s.get(t, b, "secret")
	if s.fetched != 2 {
		t.Errorf("%d downloads with two scopes", s.fetched)
	}
	if n := open("").Stats().Entries; n != 1 {
		t.Errorf("%d contents on disk", n)
	}
	a.Remember("tag", "1")
	if _, ok := b.Recall("tag"); ok {
		t.Error("a record of another scope")
	}
	if _, ok := open("").Recall("tag"); ok {
		t.Error("a record of a scope without one")
	}
	// Content that is evicted and downloaded again belongs to whoever downloads it.
	a.Close()
	b.Close()
	now.pass(2 * time.Hour)
	open("").Evict(t.Context())
	c := open("c")
	s.get(t, c, "secret")
	if open("a").Has(digestOf("secret")) || open("b").Has(digestOf("secret")) {
		t.Error("a scope has content that it got before the eviction")
	}
}
