package rbac

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// node is a node with its graph.
type node struct {
	*graph.Node
	graph *v1alpha1.ResourceGraph // decides about defaults of the node's policies
}

// readOnly reports whether the applier only reads the node's object: it is an
// external reference, or the graph mirrors it.
func (n *node) readOnly() bool {
	if n.ExternalRef != nil {
		return true
	}
	a := n.graph.Spec.Adopt
	if a == nil || a.Strategy != v1alpha1.AdoptMirror {
		return false
	}
	for _, ref := range a.Resources {
		gk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
		if gk == n.GroupKind() && ref.Name == n.Object.Name && n.isIn(ref.Namespace) {
			return true
		}
	}
	return false
}

// isIn reports whether the node's object is in a namespace; "" stands for the
// graph's namespace. An object without a namespace, which may be cluster-scoped,
// counts as being in every namespace.
func (n *node) isIn(namespace string) bool {
	if namespace == "" {
		namespace = n.graph.Namespace
	}
	return n.Object.Namespace == "" || n.Object.Namespace == namespace
}

// verbs returns the verbs that the applier uses on the node's object. Server-side
// apply needs patch, and create if the object doesn't exist. Releasing an object
// needs patch, too.
func (n *node) verbs() []string {
	if n.readOnly() {
		return []string{"get", "list", "watch"}
	}
	if n.isOrphaned() && !n.mayBeRecreated() {
		return []string{"get", "create", "patch"}
	}
	return []string{"get", "create", "patch", "delete"}
}

// isOrphaned reports whether the object is left in the cluster when it leaves the
// graph. With mode Create it is, unless the node has a deletion policy.
func (n *node) isOrphaned() bool {
	p := n.ApplyPolicy
	return p != nil && p.Mode == v1alpha1.ApplyModeCreate && p.DeletionPolicy == "" || n.Orphaned(n.graph.Spec.DeletionPolicy)
}

// mayBeRecreated reports whether the applier may delete the object and create it
// again to change an immutable field.
func (n *node) mayBeRecreated() bool {
	return n.ApplyPolicy != nil && n.ApplyPolicy.Recreate == v1alpha1.RecreateOnImmutable && !graph.OrphanedByDefault(n.GroupKind())
}

// allowCauses grants the rights to find out why an object of a kind isn't ready, as
// package cause does it: from Events, and for workloads from their Pods.
func allowCauses(to *namespaceGrants, gk schema.GroupKind) {
	switch gk {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}:
		to.allow(target{group: "apps", resource: "replicasets"}, "list")
		fallthrough
	case schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}, schema.GroupKind{Group: "apps", Kind: "StatefulSet"},
		schema.GroupKind{Group: "apps", Kind: "DaemonSet"}, schema.GroupKind{Group: "batch", Kind: "Job"}:
		to.allow(target{resource: "pods"}, "list")
	}
	switch gk {
	case schema.GroupKind{Kind: "ConfigMap"}, schema.GroupKind{Kind: "Secret"}, schema.GroupKind{Kind: "ServiceAccount"},
		schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "Role"},
		schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:
		return // objects of these kinds are ready as soon as they exist
	}
	to.allow(target{resource: "events"}, "list")
}
