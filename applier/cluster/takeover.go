package cluster

import (
	"bytes"
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/pequod-io/pequod/applier/engine"
)

// predecessor says whether a manager is one that applied whole objects before
// the graph took them over: kubectl apply, create and replace, Helm, the
// original operator. What people change by kubectl edit, scale, rollout and the
// like isn't theirs.
func predecessor(manager string) bool {
	switch manager {
	case "kubectl", "kubectl-client-side-apply", "kubectl-create", "kubectl-replace", "before-first-apply",
		"helm", "Helm", "pequod-operator":
		return true
	}
	return false
}

// takeOver moves the fields of predecessors to a manager, so that the apply
// that follows removes those that aren't wanted.
func (c *Client) takeOver(ctx context.Context, a address, live *unstructured.Unstructured, manager string) (*unstructured.Unstructured, error) {
	entries, changed, err := takenOver(live.GetManagedFields(), manager)
	if err != nil || !changed {
		return live, err
	}
	body := []operation{
		{"replace", "/metadata/managedFields", entries},
		{"replace", "/metadata/resourceVersion", live.GetResourceVersion()},
	}
	taken, _, err := c.patch(ctx, a, types.JSONPatchType, body, metav1.PatchOptions{FieldManager: engine.FieldManager})
	return taken, err
}

// takenOver is the list of managers with the predecessors' fields moved to manager.
func takenOver(entries []metav1.ManagedFieldsEntry, manager string) (kept []metav1.ManagedFieldsEntry, changed bool, err error) {
	union := &fieldpath.Set{}
	var own *metav1.ManagedFieldsEntry
	for i := range entries {
		entry := &entries[i]
		isOwn := entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply
		if entry.Subresource != "" || entry.FieldsV1 == nil || !isOwn && !predecessor(entry.Manager) {
			kept = append(kept, *entry)
			continue
		}
		var set fieldpath.Set
		if err := set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
			return nil, false, fmt.Errorf("managedFields of %s: %w", entry.Manager, err)
		}
		union = union.Union(&set)
		changed = changed || !isOwn
		if own == nil || isOwn {
			own = entry
		}
	}
	if !changed {
		return entries, false, nil
	}
	raw, err := union.ToJSON()
	if err != nil {
		return nil, false, err
	}
	moved := metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationApply,
		APIVersion: own.APIVersion, Time: own.Time, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(raw)),
	}
	return append(kept, moved), true, nil
}
