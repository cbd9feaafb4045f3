package inventory

import (
	"strings"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Owner identifies a graph. Its objects carry it in their labels.
type Owner struct {
	Namespace, Name string
}

// String gives the owner as namespace/name.
func (o Owner) String() string { return o.Namespace + "/" + o.Name }

// Labels are those that every object of the graph carries. A name over 63
// characters, which only a graph written by hand has, is cut as
// [v1alpha1.LabelValue] does it.
func (o Owner) Labels() map[string]string {
	return map[string]string{
		v1alpha1.LabelManaged:        "true",
		v1alpha1.LabelGraph:          v1alpha1.LabelValue(o.Name),
		v1alpha1.LabelGraphNamespace: o.Namespace,
		v1alpha1.LabelManagedBy:      v1alpha1.ManagedBy,
	}
}

// Selector chooses the objects of the graph, as the API server reads it. It
// leaves app.kubernetes.io/managed-by out, which other tools change.
func (o Owner) Selector() string {
	return strings.Join([]string{
		v1alpha1.LabelManaged + "=true",
		v1alpha1.LabelGraph + "=" + v1alpha1.LabelValue(o.Name),
		v1alpha1.LabelGraphNamespace + "=" + o.Namespace,
	}, ",")
}

// Owns says whether an object with these labels is the graph's.
func (o Owner) Owns(labels map[string]string) bool {
	owner, owned := OwnerOf(labels)
	return owned && owner == Owner{o.Namespace, v1alpha1.LabelValue(o.Name)}
}

// OwnerOf reads from an object's labels whose it is. The name of the owner is
// as the label has it: ask [Owner.Owns] whether it is a certain graph.
func OwnerOf(labels map[string]string) (Owner, bool) {
	o := Owner{labels[v1alpha1.LabelGraphNamespace], labels[v1alpha1.LabelGraph]}
	if labels[v1alpha1.LabelManaged] != "true" || o.Namespace == "" || o.Name == "" {
		return Owner{}, false
	}
	return o, true
}
