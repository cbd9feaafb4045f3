package rbac

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// node is a node of a graph.
type node struct {
	*graph.Node
	graph *v1alpha1.ResourceGraph
}

// readOnly says whether the applier reads the node's object and never writes it:
// it is referred to, or listed to be mirrored.
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
		if gk == n.GroupKind() && ref.Name == n.Object.Name && n.lies(ref.Namespace) {
			return true
		}
	}
	return false
}

// lies says whether the node's object lies in a namespace, "" for that of its graph.
func (n *node) lies(namespace string) bool {
	if namespace == "" {
		namespace = n.graph.Namespace
	}
	return n.Object.Namespace == "" || n.Object.Namespace == namespace
}

// verbs are what the applier does to the node's object. It writes by
// server-side apply, for which the API server asks for patch, and for create
// too where there is no object; an object that is left to others is patched.
func (n *node) verbs() []string {
	if n.readOnly() {
		return []string{"get", "list", "watch"}
	}
	if n.stays() && !n.recreated() {
		return []string{"get", "create", "patch"}
	}
	return []string{"get", "create", "patch", "delete"}
}

// stays says whether the object is left alone when it leaves the graph: what was
// created once is, unless the node says that it goes.
func (n *node) stays() bool {
	p := n.ApplyPolicy
	return p != nil && p.Mode == v1alpha1.ApplyModeCreate && p.DeletionPolicy == "" || n.Orphaned(n.graph.Spec.DeletionPolicy)
}

// recreated says whether the object may be deleted to be made anew.
func (n *node) recreated() bool {
	return n.ApplyPolicy != nil && n.ApplyPolicy.Recreate == v1alpha1.RecreateOnImmutable && !graph.OrphanedByDefault(n.GroupKind())
}

// allowCauses allows to read what tells why an object isn't ready: Events, and of
// what runs Pods those.
func allowCauses(p *place, gk schema.GroupKind) {
	switch gk {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}:
		p.allow(target{group: "apps", resource: "replicasets"}, "list")
		fallthrough
	case schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}, schema.GroupKind{Group: "apps", Kind: "StatefulSet"},
		schema.GroupKind{Group: "apps", Kind: "DaemonSet"}, schema.GroupKind{Group: "batch", Kind: "Job"}:
		p.allow(target{resource: "pods"}, "list")
	}
	switch gk {
	case schema.GroupKind{Kind: "ConfigMap"}, schema.GroupKind{Kind: "Secret"}, schema.GroupKind{Kind: "ServiceAccount"},
		schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "Role"},
		schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:
		return // they are ready at once
	}
	p.allow(target{resource: "events"}, "list")
}
