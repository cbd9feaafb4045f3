package engine

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/fields"
	"github.com/pequod-io/pequod/inventory"
)

// recoverEntry adds an object with the graph's labels to a lost inventory.
func (e *Engine) recoverEntry(key inventory.Key, obj *unstructured.Unstructured) {
	if entry, ok := recoveredEntry(e.owner, obj, e.labeledByApplier(obj, "")); ok {
		e.ledger.entries[key] = entry
		e.ledger.intentSaved, e.ledger.unmarked = false, true
	}
}

// RecoverEntry returns the inventory entry of an object that proves by itself
// that it belongs to a graph: [FieldManager] or one of the graph's other managers set the
// graph's labels, and no other object owns it. Its wave and node are unknown.
func RecoverEntry(owner inventory.Owner, obj *unstructured.Unstructured, managers ...string) (inventory.Entry, bool) {
	return recoveredEntry(owner, obj, labeledBy(obj, func(manager string) bool {
		return manager == FieldManager || slices.Contains(managers, manager)
	}))
}

// Managers returns the field managers that the nodes of a graph name.
func Managers(rg *v1alpha1.ResourceGraph) []string {
	var managers []string
	for _, n := range rg.Spec.Graph.Nodes {
		if p := n.ApplyPolicy; p != nil && p.FieldManager != "" && !slices.Contains(managers, p.FieldManager) {
			managers = append(managers, p.FieldManager)
		}
	}
	return managers
}

func recoveredEntry(owner inventory.Owner, obj *unstructured.Unstructured, labeledByApplier bool) (inventory.Entry, bool) {
	if !labeledByApplier || !owner.Owns(obj.GetLabels()) || len(obj.GetOwnerReferences()) > 0 {
		return inventory.Entry{}, false
	}
	gvk := obj.GroupVersionKind()
	return inventory.Entry{
		Key: KeyOf(obj), Version: gvk.Version, UID: obj.GetUID(), Orphan: !Recreatable(gvk.GroupKind()),
	}, true
}

// graphLabel is the field of the label that names the graph of an object.
var graphLabel = fields.Path{"f:metadata", "f:labels", "f:" + v1alpha1.LabelGraph}

// labeledByApplier reports whether a field manager of this graph set the graph's
// label: the default one, that of a node, or the one in the inventory. Controllers copy
// labels, for example from a Service to its Endpoints, and so do users.
func (e *Engine) labeledByApplier(obj *unstructured.Unstructured, recorded string) bool {
	return labeledBy(obj, func(manager string) bool {
		return manager == FieldManager || e.nodes.managers[manager] || manager != "" && manager == recorded
	})
}

// labeledBy reports whether a field manager that by accepts owns the label that
// names the graph.
func labeledBy(obj *unstructured.Unstructured, by func(manager string) bool) bool {
	return slices.ContainsFunc(fields.Entries(obj), func(entry fields.Entry) bool {
		return by(entry.Manager) && entry.Owns(graphLabel)
	})
}

// owns reports whether an object belongs to the graph: it has the graph's labels,
// and either an applier set them or the inventory has its UID.
func (e *Engine) owns(key inventory.Key, o *observation) bool {
	return o.mine && (o.labeledByApplier || o.uid == e.ledger.entries[key].UID)
}
