package controller

import (
	"testing"
	"time"
)

// The writes that show progress are limited together, and yield to graphs that are
// completed.
func TestProgressYields(t *testing.T) {
	p, now := newProgress(), time.Now()
	if !p.allows(now) {
		t.Error("the first write isn't allowed")
	}
	p.completed.Store(&now)
	if p.allows(now.Add(firstWriteAfter - 1)) {
		t.Error("a write is allowed although a graph was completed a moment ago")
	}
	later := now.Add(firstWriteAfter)
	allowed := 0
	for range 100 {
		if p.allows(later) {
			allowed++
		}
	}
	if allowed < 1 || allowed > progressAtOnce {
		t.Errorf("%d writes are allowed at once", allowed)
	}
}
