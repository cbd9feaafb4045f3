package applier

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// comparisons holds the last Compare of each object while a graph is followed. A Compare
// is a dry run, and each observation would repeat it. It is safe for concurrent use.
type comparisons struct {
	mu   sync.Mutex
	last map[inventory.Key]comparison
}

// comparison is a Compare and its outcome.
type comparison struct {
	// managers are those of the fields of the object, and desired is ApplyRequest.Object.
	// They determine the outcome.
	managers []metav1.ManagedFieldsEntry
	desired  map[string]any
	outcome  engine.Outcome
}

// reader returns a function for [execute.Executor.Read] of one observation. Send carries
// out the actions.
func (c *comparisons) reader(send func(context.Context, engine.Action) engine.Outcome) func(context.Context, engine.Action) engine.Outcome {
	var mu sync.Mutex
	seen := map[inventory.Key]*unstructured.Unstructured{}
	return func(ctx context.Context, a engine.Action) engine.Outcome {
		if a.Verb == engine.Compare {
			mu.Lock()
			object := seen[a.Key]
			mu.Unlock()
			return c.compare(ctx, a, object, send)
		}
		o := send(ctx, a)
		mu.Lock()
		defer mu.Unlock()
		for _, object := range append(slices.Clip(o.Objects), o.Object) {
			if object != nil {
				seen[engine.KeyOf(object)] = object
			}
		}
		return o
	}
}

// compare returns the outcome of the last Compare of an object if neither the owners of
// its fields nor the desired object changed since, and otherwise carries out the action.
// Refusals are kept, too: the right to patch isn't asked for again. Errors that may pass
// aren't kept.
func (c *comparisons) compare(ctx context.Context, a engine.Action, object *unstructured.Unstructured, send func(context.Context, engine.Action) engine.Outcome) engine.Outcome {
	if object == nil {
		return send(ctx, a)
	}
	managers := owners(object)
	c.mu.Lock()
	last, ok := c.last[a.Key]
	c.mu.Unlock()
	if ok && reflect.DeepEqual(last.managers, managers) && reflect.DeepEqual(last.desired, a.Apply.Object) {
		return last.outcome
	}
	o := send(ctx, a)
	if !final(o.Err) {
		return o
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		c.last = map[inventory.Key]comparison{}
	}
	c.last[a.Key] = comparison{managers, a.Apply.Object, o}
	return o
}

// owners returns the managers of an object with their fields. The status isn't compared,
// and it changes often.
func owners(object *unstructured.Unstructured) []metav1.ManagedFieldsEntry {
	entries := slices.DeleteFunc(object.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return e.Subresource != "" })
	for i := range entries {
		entries[i].Time = nil
	}
	return entries
}

// final reports whether the same request would have the same outcome.
func final(err error) bool {
	if err == nil {
		return true
	}
	_, retry := transient(err)
	var f *engine.Failure
	return errors.As(err, &f) && !retry
}
