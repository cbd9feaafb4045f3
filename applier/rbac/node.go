package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
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

// allowCauses grants the rights to find out why an object of a resource isn't ready, as
// package cause does it: from Events, and for workloads from their Pods.
func allowCauses(to *namespaceGrants, r schema.GroupResource) {
	switch r {
	case schema.GroupResource{Group: "apps", Resource: "deployments"}:
		to.allow(target{group: "apps", resource: "replicasets"}, "list")
		fallthrough
	case schema.GroupResource{Group: "apps", Resource: "replicasets"}, schema.GroupResource{Group: "apps", Resource: "statefulsets"},
		schema.GroupResource{Group: "apps", Resource: "daemonsets"}, schema.GroupResource{Group: "batch", Resource: "jobs"}:
		to.allow(target{resource: "pods"}, "list")
	}
	switch r {
	case schema.GroupResource{Resource: "configmaps"}, schema.GroupResource{Resource: "secrets"}, schema.GroupResource{Resource: "serviceaccounts"},
		schema.GroupResource{Group: "rbac.authorization.k8s.io", Resource: "roles"},
		schema.GroupResource{Group: "rbac.authorization.k8s.io", Resource: "rolebindings"}:
		return // these objects are ready as soon as they exist
	}
	to.allow(target{resource: "events"}, "list")
}

// Causes returns the rules with which an account finds out why objects of the resources aren't
// ready. [Generate] grants the same for the objects of graphs.
func Causes(resources []schema.GroupResource) []rbacv1.PolicyRule {
	grants := &namespaceGrants{verbs: map[target]verbs{}}
	for _, r := range resources {
		allowCauses(grants, r)
	}
	return grants.rules()
}
