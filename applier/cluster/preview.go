package cluster

import (
	"context"
	"errors"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/applier/fields"
	"github.com/pequod-io/pequod/inventory"
)

// Preview says what an apply would do to an object; live is the object now, nil
// if there is none. Nothing is stored: the API server admits and defaults what
// it is sent, and forgets it. Where other managers hold wanted fields the
// outcome has both the failure and the object as it would be if they were taken.
func (c *Client) Preview(ctx context.Context, key inventory.Key, version string, live *unstructured.Unstructured, want *engine.ApplyRequest) engine.Outcome {
	o := c.preview(ctx, key, version, live, want)
	o.Err = hideValues(o.Err, want.Object)
	return o
}

func (c *Client) preview(ctx context.Context, key inventory.Key, version string, live *unstructured.Unstructured, want *engine.ApplyRequest) engine.Outcome {
	a, err := c.find(ctx, key, version)
	if err != nil {
		return engine.Outcome{Err: failure(err)}
	}
	dry := *c
	dry.DryRun = true
	object := runtime.DeepCopyJSON(want.Object)
	if err := complete(object, want); err != nil {
		return engine.Outcome{Err: failure(err)}
	}
	if live != nil {
		for _, u := range want.Unknown {
			keep(object, live.Object, u.Path)
		}
		keepIgnored(live, want, object)
		object["metadata"].(map[string]any)["uid"] = string(want.UID)
	}
	o := engine.Outcome{}
	o.Object, o.Created, o.Taken, o.Err = dry.applyPatch(ctx, a, want, runtime.DeepCopyJSON(object))
	if o.Err != nil {
		f := failure(o.Err)
		o.Err = f
		if len(f.Conflicts) == 0 {
			return o
		}
		forced := *want
		forced.Force = true
		if o.Object, _, _, err = dry.applyPatch(ctx, a, &forced, object); err != nil {
			o.Err = failure(err) // that is in the way, too
			return o
		}
	}
	if live == nil {
		return o
	}
	o.Object = dry.afterwards(ctx, a, live, o.Object, want)
	o.Changed = !sameContent(live, o.Object)
	return o
}

// afterwards adds to a previewed object what the requests before the apply
// would have done: they were no more stored than the apply.
func (c *Client) afterwards(ctx context.Context, a address, live, object *unstructured.Unstructured, want *engine.ApplyRequest) *unstructured.Unstructured {
	if want.HandOverReplicas {
		if replicas, ok := fields.Value(live, fields.Path{"f:spec", "f:replicas"}); ok {
			fields.SetValue(object.Object, fields.Path{"f:spec", "f:replicas"}, replicas)
		}
	}
	if !want.Adopt {
		return object
	}
	moved := func(e fields.Entry) bool { return predecessor(e.Manager) && e.Subresource == "" }
	owned := fields.OwnedSet(live, moved)
	if len(owned) == 0 {
		return object
	}
	kept := fields.OwnedSet(object, func(e fields.Entry) bool { return !moved(e) })
	rest := object.DeepCopy()
	if !fields.RemoveUnowned(rest.Object, owned, kept) {
		return object
	}
	// Of what is taken away, the API server puts back what has a default.
	rest.SetManagedFields(nil)
	completed, err := c.resource(a.kind, a.namespace).Update(ctx, rest, metav1.UpdateOptions{
		DryRun: []string{metav1.DryRunAll}, FieldManager: want.Manager,
	})
	if err != nil {
		return rest
	}
	return completed
}

// sameContent says whether two states of an object differ in nothing but what
// the API server keeps books of.
func sameContent(a, b *unstructured.Unstructured) bool {
	return reflect.DeepEqual(content(a), content(b))
}

func content(obj *unstructured.Unstructured) map[string]any {
	copied := runtime.DeepCopyJSON(obj.Object)
	delete(copied, "status")
	metadata, _ := copied["metadata"].(map[string]any)
	for _, name := range []string{"managedFields", "resourceVersion", "generation"} {
		delete(metadata, name)
	}
	return copied
}

// keep gives an object the live value at a path, if there is one: what isn't
// known before the apply is left as it is.
func keep(object, live map[string]any, path reference.Path) {
	if len(path) == 0 {
		return
	}
	var value any = live
	for _, step := range path {
		next, ok := below(value, step)
		if !ok {
			return
		}
		value = next
	}
	var at any = object
	for _, step := range path[:len(path)-1] {
		next, ok := below(at, step)
		if m, isMap := at.(map[string]any); !ok && isMap {
			if name, isName := step.(string); isName {
				next, ok = map[string]any{}, true
				m[name] = next
			}
		}
		if !ok {
			return
		}
		at = next
	}
	m, isMap := at.(map[string]any)
	if name, isName := path[len(path)-1].(string); isMap && isName {
		m[name] = runtime.DeepCopyJSONValue(value)
	}
}

func below(v any, step any) (any, bool) {
	switch step := step.(type) {
	case string:
		m, _ := v.(map[string]any)
		next, ok := m[step]
		return next, ok
	case int:
		if l, _ := v.([]any); step < len(l) {
			return l[step], true
		}
	}
	return nil, false
}

// PreviewRemoval asks whether an object could be deleted, or released.
func (c *Client) PreviewRemoval(ctx context.Context, action engine.Action) error {
	dry := *c
	dry.DryRun = true
	err := dry.Do(ctx, "", action).Err
	var f *engine.Failure
	if errors.As(err, &f) && f == errChanged {
		return nil // it went meanwhile
	}
	return err
}
