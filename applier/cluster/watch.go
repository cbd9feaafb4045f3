package cluster

import (
	"context"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// Scope is what a watch sees: objects of a kind in a namespace ("" for all, or
// for kinds without), by labels or by name.
type Scope struct {
	GVK       schema.GroupVersionKind
	Namespace string
	Labels    string
	Name      string
}

// Event is an object that was seen, or seen to go.
type Event struct {
	Object *unstructured.Unstructured
	Gone   bool
}

const (
	// watchFor is when the server ends a watch, which is then opened again.
	watchFor = 10 * time.Minute
	// The pause before a watch that ended at once, or was refused, is opened again.
	minPause, maxPause = 200 * time.Millisecond, 30 * time.Second
)

// Watch sends what happens to the objects of a scope until the context ends. It
// begins with what is there, and opens the watch again whenever it ends: what
// went in between isn't told, so who waits for an object to go has to look for
// himself every now and then.
func (c *Client) Watch(ctx context.Context, s Scope, seen chan<- Event) {
	for pause := minPause; ctx.Err() == nil; {
		began := time.Now()
		c.watchOnce(ctx, s, seen)
		if time.Since(began) > maxPause {
			pause = minPause
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause/2 + rand.N(pause)):
		}
		pause = min(2*pause, maxPause)
	}
}

func (c *Client) watchOnce(ctx context.Context, s Scope, seen chan<- Event) {
	kind, err := c.kinds.Find(ctx, s.GVK)
	if err != nil {
		return
	}
	namespace := s.Namespace
	if !kind.Namespaced {
		namespace = ""
	}
	options := metav1.ListOptions{LabelSelector: s.Labels, TimeoutSeconds: new(int64(watchFor / time.Second))}
	if s.Name != "" {
		options.FieldSelector = fields.OneTermEqualSelector("metadata.name", s.Name).String()
	}
	w, err := c.resource(kind, namespace).Watch(ctx, options)
	if err != nil {
		return
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		obj, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Error {
			return // the version is too old, or the server goes: begin anew
		}
		select {
		case seen <- Event{obj, event.Type == watch.Deleted}:
		case <-ctx.Done():
			return
		}
	}
}
