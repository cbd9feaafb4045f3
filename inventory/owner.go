package inventory

import (
	"slices"
	"strings"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Owner identifies a graph by its namespace and name. Objects of the graph carry
// both as labels.
type Owner struct {
	Namespace, Name string
}

// String returns namespace/name.
func (o Owner) String() string { return o.Namespace + "/" + o.Name }

// Labels returns the labels that every object of the graph carries. Label values
// have at most 63 characters; [v1alpha1.LabelValue] shortens longer names, which
// only handwritten graphs have.
func (o Owner) Labels() map[string]string {
	return map[string]string{
		v1alpha1.LabelManaged:        "true",
		v1alpha1.LabelGraph:          v1alpha1.LabelValue(o.Name),
		v1alpha1.LabelGraphNamespace: o.Namespace,
		v1alpha1.LabelManagedBy:      v1alpha1.ManagedBy,
	}
}

// Selector returns a label selector for the objects of the graph. It leaves out
// app.kubernetes.io/managed-by, which other tools overwrite.
func (o Owner) Selector() string {
	return strings.Join([]string{
		v1alpha1.LabelManaged + "=true",
		v1alpha1.LabelGraph + "=" + v1alpha1.LabelValue(o.Name),
		v1alpha1.LabelGraphNamespace + "=" + o.Namespace,
	}, ",")
}

// Owns reports whether an object with these labels belongs to the graph.
func (o Owner) Owns(labels map[string]string) bool {
	owner, owned := OwnerOf(labels)
	return owned && owner == Owner{o.Namespace, v1alpha1.LabelValue(o.Name)}
}

// OwnerOf returns the owner that an object's labels name. The name may be
// shortened to the length of a label value, so compare owners with [Owner.Owns]
// and not with ==.
func OwnerOf(labels map[string]string) (Owner, bool) {
	o := Owner{labels[v1alpha1.LabelGraphNamespace], labels[v1alpha1.LabelGraph]}
	if labels[v1alpha1.LabelManaged] != "true" || o.Namespace == "" || o.Name == "" {
		return Owner{}, false
	}
	return o, true
}

// Equal reports whether two inventories have the same content. It ignores where
// they are stored and the order of their entries.
func Equal(a, b *Inventory) bool {
	if a.Owner != b.Owner || a.Revision != b.Revision || a.Complete != b.Complete || !slices.Equal(a.Unsearched, b.Unsearched) {
		return false
	}
	x, y := slices.Clone(a.Entries), slices.Clone(b.Entries)
	Sort(x)
	Sort(y)
	return slices.Equal(x, y)
}
