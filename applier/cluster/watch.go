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

// Event is an object that was seen, or seen to go; or, when a watch was opened,
// all objects of its scope.
type Event struct {
	Object *unstructured.Unstructured
	Gone   bool
	All    *Listing
}

// Listing is what a scope held at a version of the cluster.
type Listing struct {
	Scope   Scope
	Version string
	Objects []unstructured.Unstructured
}

const (
	// watchFor is when the server ends a watch, which is then opened again.
	watchFor = 10 * time.Minute
	// The pause before a watch that ended at once, or was refused, is opened again.
	minPause, maxPause = 200 * time.Millisecond, 30 * time.Second
)

// Watch sends what happens to the objects of a scope until the context ends. It
// begins with a listing of what is there, and opens the watch again, with a
// listing, whenever it ends: what isn't listed any more went in between.
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
	options := metav1.ListOptions{LabelSelector: s.Labels}
	if s.Name != "" {
		options.FieldSelector = fields.OneTermEqualSelector("metadata.name", s.Name).String()
	}
	// A list that is cancelled makes client-go complain on standard error.
	items, version, err := c.listAll(context.WithoutCancel(ctx), kind, namespace, options)
	if err != nil {
		return
	}
	if !send(ctx, seen, Event{All: &Listing{s, version, items}}) {
		return
	}
	options.ResourceVersion, options.TimeoutSeconds = version, new(int64(watchFor/time.Second))
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
		if !send(ctx, seen, Event{Object: obj, Gone: event.Type == watch.Deleted}) {
			return
		}
	}
}

func send(ctx context.Context, seen chan<- Event, ev Event) bool {
	select {
	case seen <- ev:
		return true
	case <-ctx.Done():
		return false
	}
}
