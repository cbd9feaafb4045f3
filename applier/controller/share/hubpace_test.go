package share

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Watches of many objects are opened a few at a time.
func TestWatchesArePaced(t *testing.T) {
	h := newHub(nil, 0, 0, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // the watches end before they send a request
	for i := range startBatch + 5 {
		w := &watcher{hub: h, selection: Selection{GVK: schema.GroupVersionKind{Kind: string(rune('A' + i))}}}
		h.watchers[w.selection] = w
		h.added = append(h.added, w)
	}
	h.startWatchers(ctx)
	if n := len(h.added); n != 5 {
		t.Errorf("%d watches are left; want 5", n)
	}
	if h.startWatchers(ctx); h.added != nil {
		t.Errorf("%d watches are left", len(h.added))
	}
}
