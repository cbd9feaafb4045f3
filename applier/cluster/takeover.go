package cluster

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/applier/fields"
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
	entries, moved := fields.MoveOwnership(live, manager, predecessor)
	if !moved {
		return live, nil
	}
	body := []operation{
		{"replace", "/metadata/managedFields", entries},
		{"replace", "/metadata/resourceVersion", live.GetResourceVersion()},
	}
	taken, _, err := c.patch(ctx, a, types.JSONPatchType, body, metav1.PatchOptions{FieldManager: engine.FieldManager})
	return taken, err
}
