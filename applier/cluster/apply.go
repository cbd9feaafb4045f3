package cluster

import (
	"context"
	"encoding/base64"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/applier/fields"
	"github.com/pequod-io/pequod/applier/resolve"
)

// replicasManager holds the replicas of a workload between the graph, which
// wants them no more, and the autoscaler, which didn't change them yet: a field
// that nobody holds is removed, and the workload would fall to one replica.
const replicasManager = "pequod-replicas"

// apply makes an object as it is wanted. In the usual case that is one request.
func (c *Client) apply(ctx context.Context, a address, want *engine.ApplyRequest) engine.Outcome {
	object := runtime.DeepCopyJSON(want.Object)
	if err := complete(object, want); err != nil {
		return engine.Outcome{Err: err}
	}
	before, err := c.prepare(ctx, a, want, object)
	if err != nil {
		return engine.Outcome{Err: err}
	}
	if want.UID != "" {
		// The API server refuses to apply to another object of that name.
		object["metadata"].(map[string]any)["uid"] = string(want.UID)
	}
	if want.UID == "" && !c.DryRun {
		return c.create(ctx, a, want, object)
	}
	live, created, taken, err := c.applyPatch(ctx, a, want, object)
	if err != nil {
		return engine.Outcome{Err: err}
	}
	changed := created || before == "" || before != live.GetResourceVersion()
	return engine.Outcome{Object: live, Created: created, Changed: changed, Taken: taken}
}

// complete fills in what is made up, and writes a Secret's stringData as data:
// the API server would do so too, but then nobody would own the keys.
func complete(object map[string]any, want *engine.ApplyRequest) error {
	if len(want.Generates) > 0 {
		if err := resolve.Generate(&unstructured.Unstructured{Object: object}, want.Generates); err != nil {
			return err
		}
	}
	if !graph.IsSecret(object) {
		return nil
	}
	text, ok := object["stringData"].(map[string]any)
	if !ok {
		return nil
	}
	delete(object, "stringData")
	data, ok := object["data"].(map[string]any)
	if !ok {
		data = map[string]any{}
		object["data"] = data
	}
	for key, value := range text {
		s, ok := value.(string)
		if !ok {
			return &engine.Failure{Reason: engine.ReasonInvalid, Terminal: true, Message: "stringData." + key + " is not a string"}
		}
		data[key] = base64.StdEncoding.EncodeToString([]byte(s))
	}
	return nil
}

// prepare does what has to be done to a live object first. It gives the
// version of the object, where it had to read it.
func (c *Client) prepare(ctx context.Context, a address, want *engine.ApplyRequest, object map[string]any) (string, error) {
	if want.UID == "" || !want.Adopt && !want.HandOverReplicas && len(want.Ignore) == 0 && !want.Drift {
		return want.Version, nil
	}
	live, err := c.get(ctx, a)
	if err != nil {
		return "", err
	}
	if live == nil || live.GetUID() != want.UID {
		return "", errChanged
	}
	if want.Adopt {
		if live, err = c.takeOver(ctx, a, live, want.Manager); err != nil {
			return "", err
		}
	}
	keepIgnored(live, want, object)
	if want.HandOverReplicas {
		if err := c.handOverReplicas(ctx, a, live); err != nil {
			return "", err
		}
	}
	return live.GetResourceVersion(), nil
}

// errChanged says that an object isn't the one that was looked at any more.
var errChanged = &engine.Failure{Reason: engine.ReasonApplyFailed, Message: "was replaced by another object of its name"}

// keepIgnored leaves ignored fields to others: where the manager still holds
// one, its live value is applied again, since what an applier stops to apply
// and nobody else holds is removed.
func keepIgnored(live *unstructured.Unstructured, want *engine.ApplyRequest, object map[string]any) {
	for _, path := range want.Ignore {
		fields.RemoveValue(object, path)
		for _, entry := range fields.Entries(live) {
			if !entry.AppliedBy(want.Manager) || !entry.Owns(path) {
				continue
			}
			if value, ok := fields.Value(live, path); ok {
				fields.SetValue(object, path, runtime.DeepCopyJSONValue(value))
			}
		}
	}
}

func (c *Client) handOverReplicas(ctx context.Context, a address, live *unstructured.Unstructured) error {
	replicas, ok, err := unstructured.NestedFieldNoCopy(live.Object, "spec", "replicas")
	if err != nil || !ok {
		return err
	}
	body := map[string]any{
		"apiVersion": live.GetAPIVersion(), "kind": live.GetKind(),
		"metadata": map[string]any{"name": live.GetName()},
		"spec":     map[string]any{"replicas": replicas},
	}
	_, _, err = c.patch(ctx, a, types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: replicasManager, Force: new(true)})
	return err
}

// applyPatch applies without force first, so that a conflict tells who holds
// what. Fields of an autoscaler are left to it, the others are taken if the
// node, the user or drift says so.
func (c *Client) applyPatch(ctx context.Context, a address, want *engine.ApplyRequest, object map[string]any) (*unstructured.Unstructured, bool, []engine.Conflict, error) {
	options := metav1.PatchOptions{FieldManager: want.Manager, FieldValidation: metav1.FieldValidationStrict}
	live, created, err := c.patch(ctx, a, types.ApplyPatchType, object, options)
	var taken []engine.Conflict
	for range 2 {
		if err == nil {
			break
		}
		f := failure(err)
		if len(f.Conflicts) == 0 {
			break
		}
		var others []engine.Conflict
		for _, conflict := range f.Conflicts {
			switch {
			case yields(conflict):
				fields.RemoveValue(object, fields.Path{"f:spec", "f:replicas"})
			case conflict.Manager == replicasManager, want.Adopt && predecessor(conflict.Manager):
			default:
				others = append(others, conflict)
			}
		}
		if len(others) > 0 && !want.Force {
			f.Conflicts, f.Message = others, conflictText(others)
			return nil, false, nil, f
		}
		taken = others
		// A handed over field, and whatever may be forced.
		options.Force = new(len(others) > 0 || len(f.Conflicts) > 0)
		live, created, err = c.patch(ctx, a, types.ApplyPatchType, object, options)
	}
	return live, created, taken, err
}

// compare asks the API server which fields others hold with other values.
func (c *Client) compare(ctx context.Context, a address, want *engine.ApplyRequest) ([]engine.Conflict, error) {
	dry, free := *c, *want
	dry.DryRun, free.Force = true, false
	object := runtime.DeepCopyJSON(want.Object)
	if err := complete(object, want); err != nil {
		return nil, err
	}
	object["metadata"].(map[string]any)["uid"] = string(want.UID)
	_, _, _, err := dry.applyPatch(ctx, a, &free, object)
	if err == nil {
		return nil, nil
	}
	if f := failure(err); len(f.Conflicts) > 0 {
		return f.Conflicts, nil
	}
	return nil, err
}

// noVersion is a resourceVersion that no object has: etcd counts from 1, and the
// first write makes it 2. An apply that carries it creates an object, and is a
// conflict where there is one.
const noVersion = "1"

// create applies an object that must not exist: one that does isn't touched.
func (c *Client) create(ctx context.Context, a address, want *engine.ApplyRequest, object map[string]any) engine.Outcome {
	metadata := object["metadata"].(map[string]any)
	metadata["resourceVersion"] = noVersion
	options := metav1.PatchOptions{FieldManager: want.Manager, FieldValidation: metav1.FieldValidationStrict}
	live, created, err := c.patch(ctx, a, types.ApplyPatchType, object, options)
	switch {
	case apierrors.IsConflict(err), err == nil && !created:
		return engine.Outcome{Err: &engine.Failure{Reason: engine.ReasonExists, Message: "exists already"}}
	case err != nil:
		return engine.Outcome{Err: err}
	}
	return engine.Outcome{Object: live, Created: true, Changed: true}
}
