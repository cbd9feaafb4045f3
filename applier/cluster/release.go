package cluster

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/applier/fields"
	"github.com/pequod-io/pequod/inventory"
)

// operation is an operation of a JSON patch, RFC 6902.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// release leaves an object to another graph, by its labels, or to nobody: then
// its fields are given up too, so that no later apply of the graph's manager
// removes them.
func (c *Client) release(ctx context.Context, a address, was claim, to *inventory.Owner) error {
	live, err := c.get(ctx, a)
	if err != nil {
		return err
	}
	if err := was.holds(live); err != nil {
		return err
	}
	metadata := []operation{{"replace", "/metadata/labels", releasedLabels(live, to)}}
	if to == nil {
		metadata = append(metadata, operation{"replace", "/metadata/managedFields", releasedFields(live)})
	}
	// The version that the patch was made from; another is a conflict.
	metadata = append(metadata, operation{"replace", "/metadata/resourceVersion", live.GetResourceVersion()})
	_, _, err = c.patch(ctx, a, types.JSONPatchType, metadata, metav1.PatchOptions{FieldManager: engine.FieldManager})
	return err
}

func releasedLabels(live *unstructured.Unstructured, to *inventory.Owner) map[string]string {
	labels := live.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	delete(labels, v1alpha1.LabelManaged)
	delete(labels, v1alpha1.LabelGraph)
	delete(labels, v1alpha1.LabelGraphNamespace)
	if labels[v1alpha1.LabelManagedBy] == v1alpha1.ManagedBy {
		delete(labels, v1alpha1.LabelManagedBy)
	}
	if to != nil {
		for name, value := range to.Labels() {
			labels[name] = value
		}
	}
	return labels
}

// releasedFields are the managedFields without those of graphs: whoever put
// the graph's label there, and the manager of handed over replicas.
func releasedFields(live *unstructured.Unstructured) []metav1.ManagedFieldsEntry {
	label := fields.Path{"f:metadata", "f:labels", "f:" + v1alpha1.LabelGraph}
	drop := map[string]bool{engine.FieldManager: true}
	for _, entry := range fields.Entries(live) {
		if entry.Operation == string(metav1.ManagedFieldsOperationApply) && entry.Owns(label) {
			drop[entry.Manager] = true
		}
	}
	kept := slices.DeleteFunc(live.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return drop[e.Manager] && e.Subresource == ""
	})
	if len(kept) == 0 {
		// An empty list is what the API server takes for "not given"; one
		// empty entry resets it.
		kept = []metav1.ManagedFieldsEntry{{}}
	}
	return kept
}
