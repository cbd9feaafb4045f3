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

// replicasManager is the field manager that owns the replicas of a workload while
// they pass from the graph to an autoscaler. A field without an owner is removed,
// so without it the workload would fall back to one replica between the apply that
// leaves the replicas out and the first write of the autoscaler.
const replicasManager = "pequod-replicas"

// replicasPath is the field that autoscalers write.
var replicasPath = fields.Path{"f:spec", "f:replicas"}

// apply creates or updates an object. Usually it sends one request; it reads the
// object first only if [Client.prepareLive] has something to do.
func (c *Client) apply(ctx context.Context, a address, want *engine.ApplyRequest) engine.Outcome {
	object := runtime.DeepCopyJSON(want.Object)
	if err := completeObject(object, want); err != nil {
		return engine.Outcome{Err: err}
	}
	before, err := c.prepareLive(ctx, a, want, object)
	if err != nil {
		return engine.Outcome{Err: err}
	}
	if want.UID != "" {
		// The API server refuses the apply if another object has the name now.
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

// completeObject fills in generated values and moves a Secret's stringData to data.
func completeObject(object map[string]any, want *engine.ApplyRequest) error {
	if len(want.Generates) > 0 {
		if err := resolve.Generate(&unstructured.Unstructured{Object: object}, want.Generates); err != nil {
			return err
		}
	}
	if graph.IsSecret(object) {
		return moveStringData(object)
	}
	return nil
}

// moveStringData moves the stringData of a Secret to data. The API server would do so
// too, but would record no owner for the keys. If data is no map, the Secret stays as it
// is, and the API server refuses it.
func moveStringData(secret map[string]any) error {
	text, ok := secret["stringData"].(map[string]any)
	data, isMap := secret["data"].(map[string]any)
	if !ok || !isMap && secret["data"] != nil {
		return nil
	}
	for key, value := range text {
		plain, ok := value.(string)
		if !ok {
			return &engine.Failure{Reason: engine.ReasonInvalid, Terminal: true, Message: "stringData." + key + " is not a string"}
		}
		if data == nil {
			data = make(map[string]any, len(text))
			secret["data"] = data
		}
		data[key] = base64.StdEncoding.EncodeToString([]byte(plain))
	}
	delete(secret, "stringData")
	return nil
}

// prepareLive makes the changes to the live object that must precede the apply:
// it takes over fields of earlier appliers and hands replicas over. It also adapts
// the object that is about to be applied to the ignored fields of the live one.
//
// It returns the resource version of the live object before the apply, as far as
// it is known.
func (c *Client) prepareLive(ctx context.Context, a address, want *engine.ApplyRequest, object map[string]any) (string, error) {
	if want.UID == "" || !want.Adopt && !want.HandOverReplicas && len(want.Ignore) == 0 && !want.Drift {
		return want.Version, nil
	}
	live, err := c.prepareManagers(ctx, a, want, false)
	if err != nil {
		return "", err
	}
	leaveIgnored(live, want, object)
	if want.HandOverReplicas {
		if err := c.handOverReplicas(ctx, a, live); err != nil {
			return "", err
		}
	}
	return live.GetResourceVersion(), nil
}

// leaveIgnored removes ignored fields from the object that is about to be applied,
// so that other managers decide about them. If the graph's manager still owns an
// ignored field, its live value is applied again: the API server removes a field
// that its only owner stops applying.
func leaveIgnored(live *unstructured.Unstructured, want *engine.ApplyRequest, object map[string]any) {
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

// handOverReplicas makes replicasManager an owner of the live replicas.
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

// applyPatch sends a server-side apply, and sends it again if its conflicts can be
// resolved: the first request is never forced, so that a conflict names the other
// managers.
//
// If other managers wrote the object in an API version in which it can't be expressed
// any more, their managedFields are migrated, once per call.
//
// Replicas of an autoscaler are removed from object. Fields of replicasManager, and
// of earlier appliers if the object is taken over, are forced. Other conflicts are
// forced if want.Force is set, and an error otherwise. The result has the live
// object, whether it was created, and the fields that were taken from others.
func (c *Client) applyPatch(ctx context.Context, a address, want *engine.ApplyRequest, object map[string]any) (*unstructured.Unstructured, bool, []engine.Conflict, error) {
	options := metav1.PatchOptions{FieldManager: want.Manager, FieldValidation: metav1.FieldValidationStrict}
	live, created, err := c.patchOrMerge(ctx, a, object, options)
	if want.UID != "" && isOutdatedManagers(err) {
		if _, err = c.prepareManagers(ctx, a, want, true); err == nil {
			live, created, err = c.patchOrMerge(ctx, a, object, options)
		}
	}
	var taken []engine.Conflict
	// The second attempt may conflict again if a manager writes in between.
	for range 2 {
		if err == nil {
			break
		}
		f := Classify(err)
		if len(f.Conflicts) == 0 {
			break
		}
		var others []engine.Conflict
		for _, conflict := range f.Conflicts {
			switch {
			case isAutoscaled(conflict):
				fields.RemoveValue(object, replicasPath)
			case conflict.Manager == replicasManager, want.Adopt && predecessorsOf(a.gvk.Group)(conflict.Manager):
			default:
				others = append(others, conflict)
			}
		}
		if len(others) > 0 && !want.Force {
			f.Conflicts, f.Message = others, conflictText(others)
			return nil, false, nil, f
		}
		taken = others
		options.Force = new(true)
		live, created, err = c.patchOrMerge(ctx, a, object, options)
	}
	return live, created, taken, err
}

// compare returns the wanted fields that other managers own with other values. It
// sends a dry run.
func (c *Client) compare(ctx context.Context, a address, want *engine.ApplyRequest) ([]engine.Conflict, error) {
	dry, unforced := *c, *want
	dry.DryRun, unforced.Force = true, false
	object := runtime.DeepCopyJSON(want.Object)
	if err := completeObject(object, want); err != nil {
		return nil, err
	}
	object["metadata"].(map[string]any)["uid"] = string(want.UID)
	_, _, _, err := dry.applyPatch(ctx, a, &unforced, object)
	if err == nil {
		return nil, nil
	}
	if f := Classify(err); len(f.Conflicts) > 0 {
		return f.Conflicts, nil
	}
	return nil, err
}

// noVersion is a resourceVersion that no object has: etcd's revisions start at 1,
// and the first write makes it 2. The API server creates an object for an apply
// with this version if there is none, and returns a conflict if there is one.
const noVersion = "1"

// create applies an object that must not exist yet. If it exists, it is left
// alone and the failure has the reason ReasonExists.
func (c *Client) create(ctx context.Context, a address, want *engine.ApplyRequest, object map[string]any) engine.Outcome {
	if err := c.checkOwners(ctx, a, object); err != nil {
		return engine.Outcome{Err: err}
	}
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
