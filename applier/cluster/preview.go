package cluster

import (
	"context"
	"errors"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/applier/fields"
	"github.com/pequod-io/pequod/inventory"
)

// Preview returns the outcome that an apply would have. live is the object as it
// is, nil if it doesn't exist. Nothing is stored: the API server admits and
// defaults dry runs.
//
// If other managers own wanted fields, the outcome has both the failure and the
// object as it would be if the fields were taken.
func (c *Client) Preview(ctx context.Context, key inventory.Key, version string, live *unstructured.Unstructured, want *engine.ApplyRequest) engine.Outcome {
	o := c.preview(ctx, key, version, live, want)
	o.Err = redactSecret(o.Err, want.Object)
	return o
}

// preview is [Client.Preview] without the redaction of errors.
func (c *Client) preview(ctx context.Context, key inventory.Key, version string, live *unstructured.Unstructured, want *engine.ApplyRequest) engine.Outcome {
	a, err := c.resolve(ctx, key, version)
	if err != nil {
		return engine.Outcome{Err: Classify(err)}
	}
	dry := *c
	dry.DryRun, dry.before = true, live
	object := runtime.DeepCopyJSON(want.Object)
	if err := completeObject(object, want); err != nil {
		return engine.Outcome{Err: Classify(err)}
	}
	if live != nil {
		for _, u := range want.Unknown {
			copyValue(object, live.Object, u.Path)
		}
		leaveIgnored(live, want, object)
		object["metadata"].(map[string]any)["uid"] = string(want.UID)
	}
	o := engine.Outcome{}
	o.Object, o.Created, o.Taken, o.Err = dry.applyPatch(ctx, a, want, runtime.DeepCopyJSON(object))
	if o.Err != nil {
		f := Classify(o.Err)
		o.Err = f
		if len(f.Conflicts) == 0 {
			return o
		}
		// Show the object as it would be with --force-conflicts.
		forced := *want
		forced.Force = true
		if o.Object, _, _, err = dry.applyPatch(ctx, a, &forced, object); err != nil {
			o.Err = Classify(err) // more serious than the conflict
			return o
		}
	}
	if live == nil {
		return o
	}
	o.Object = dry.simulatePreparation(ctx, a, live, o.Object, want)
	o.Changed = !sameContent(live, o.Object)
	return o
}

// simulatePreparation returns a previewed object with the effects of the requests
// that [Client.prepareLive] would have sent before the apply. Dry runs of these
// requests have no effect on the dry run of the apply.
func (c *Client) simulatePreparation(ctx context.Context, a address, live, object *unstructured.Unstructured, want *engine.ApplyRequest) *unstructured.Unstructured {
	if want.HandOverReplicas {
		if replicas, ok := fields.Value(live, replicasPath); ok {
			fields.SetValue(object.Object, replicasPath, replicas)
		}
	}
	if !want.Adopt {
		return object
	}
	moved := func(e fields.Entry) bool { return predecessorsOf(a.gvk.Group)(e.Manager) && e.Subresource == "" }
	owned := fields.OwnedSet(live, moved)
	if len(owned) == 0 {
		return object
	}
	kept := fields.OwnedSet(object, func(e fields.Entry) bool { return !moved(e) })
	rest := object.DeepCopy()
	if !fields.RemoveUnowned(rest.Object, owned, kept) {
		return object
	}
	// Some removed fields have defaults: let the API server set them.
	rest.SetManagedFields(nil)
	return c.withDefaults(ctx, a, rest, want.Manager)
}

// defaultTries is how often withDefaults repeats its dry run if the object changes
// in the meantime, for example because its controller writes the status.
const defaultTries = 5

// withDefaults returns object with the defaults of the API server, from a dry run
// of an update. If the dry run fails, it returns object itself.
func (c *Client) withDefaults(ctx context.Context, a address, object *unstructured.Unstructured, manager string) *unstructured.Unstructured {
	if c.Fallback.lacks(a, applying) {
		return object
	}
	options := metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: manager}
	resource := c.resource(a.kind, a.namespace)
	for range defaultTries {
		defaulted, err := resource.Update(ctx, object, options)
		if err == nil {
			return defaulted
		}
		if !apierrors.IsConflict(err) {
			break
		}
		live, err := resource.Get(ctx, object.GetName(), metav1.GetOptions{})
		if err != nil {
			break
		}
		object.SetResourceVersion(live.GetResourceVersion())
	}
	return object
}

// sameContent reports whether two states of an object are equal apart from their
// status and the metadata that the API server maintains.
func sameContent(a, b *unstructured.Unstructured) bool {
	return reflect.DeepEqual(content(a), content(b))
}

// content returns a copy of an object without its status and without the metadata
// that changes with every write.
func content(obj *unstructured.Unstructured) map[string]any {
	copied := runtime.DeepCopyJSON(obj.Object)
	delete(copied, "status")
	metadata, _ := copied["metadata"].(map[string]any)
	for _, name := range []string{"managedFields", "resourceVersion", "generation"} {
		delete(metadata, name)
	}
	return copied
}

// copyValue sets the value at a path of an object to that of the live object, if
// the live object has one: a value that isn't known before the apply is assumed to
// stay as it is. Missing maps are created; missing list items are not.
func copyValue(object, live map[string]any, path reference.Path) {
	if len(path) == 0 {
		return
	}
	var value any = live
	for _, segment := range path {
		next, ok := child(value, segment)
		if !ok {
			return
		}
		value = next
	}
	var parent any = object
	for _, segment := range path[:len(path)-1] {
		next, ok := child(parent, segment)
		if m, isMap := parent.(map[string]any); !ok && isMap {
			if name, isName := segment.(string); isName {
				next, ok = map[string]any{}, true
				m[name] = next
			}
		}
		if !ok {
			return
		}
		parent = next
	}
	m, isMap := parent.(map[string]any)
	if name, isName := path[len(path)-1].(string); isMap && isName {
		m[name] = runtime.DeepCopyJSONValue(value)
	}
}

// child returns the field or list item of v that a segment of a path names.
func child(v any, segment any) (any, bool) {
	switch segment := segment.(type) {
	case string:
		m, _ := v.(map[string]any)
		next, ok := m[segment]
		return next, ok
	case int:
		if l, _ := v.([]any); segment < len(l) {
			return l[segment], true
		}
	}
	return nil, false
}

// PreviewRemoval returns the error that a Delete or Release would have. It sends
// dry runs. An object that was replaced in the meantime is no error.
func (c *Client) PreviewRemoval(ctx context.Context, action engine.Action) error {
	dry := *c
	dry.DryRun = true
	err := dry.Do(ctx, "", action).Err
	var f *engine.Failure
	if errors.As(err, &f) && f == errReplaced {
		return nil
	}
	return err
}
