package execute_test

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// history has the changes of the digests of graphs.
type history struct {
	mu      sync.Mutex
	last    map[string]string
	changes []change
}

// change is a graph of an instance that got a digest.
type change struct{ name, digest string }

// all returns the changes so far.
func (h *history) all() []change {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]change(nil), h.changes...)
}

// to returns the instances that got a digest, in their order.
func (h *history) to(digest string) []string {
	var names []string
	for _, c := range h.all() {
		if c.digest == digest {
			names = append(names, c.name)
		}
	}
	return names
}

// watch writes the history of the graphs until the test ends. The watch begins before the
// first graph is made, so it sees all versions.
func (b *env) watch() {
	b.t.Helper()
	b.history = &history{last: map[string]string{}}
	ctx, cancel := context.WithCancel(context.Background())
	version := ""
	done := make(chan struct{})
	if list, err := b.graphs().List(ctx, metav1.ListOptions{}); err == nil {
		version = list.GetResourceVersion()
	} else if !apierrors.IsNotFound(err) {
		b.t.Fatal(err)
	}
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			w, err := b.graphs().Watch(ctx, metav1.ListOptions{ResourceVersion: version})
			if err != nil {
				time.Sleep(100 * time.Millisecond)
				continue
			}
			for event := range w.ResultChan() {
				if g, ok := event.Object.(*unstructured.Unstructured); ok {
					version = g.GetResourceVersion()
					b.history.add(g)
				}
			}
		}
	}()
	b.t.Cleanup(func() { cancel(); <-done })
}

// add adds a version of a graph.
func (h *history) add(g *unstructured.Unstructured) {
	name, _, _ := unstructured.NestedString(g.Object, "spec", "sourceRef", "name")
	digest, _, _ := unstructured.NestedString(g.Object, "spec", "platformRef", "digest")
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last[name] != digest {
		h.last[name] = digest
		h.changes = append(h.changes, change{name, digest})
	}
}
