package reaction

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/actions/identity"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// nobody is the manager that the API server invents for fields that nobody owns, such as defaults.
const nobody = "before-first-apply"

// judge returns why fields with other owners must not be applied, or nil if none of the owners takes
// its fields back. A graph does, unless it ignores the field, and so do Flux and Argo CD. What kubectl,
// Helm or another tool has written once is not restored, so it may be changed.
func (r *Reactor) judge(ctx context.Context, t target, conflicts []conflict) error {
	live, err := t.objects.Get(ctx, t.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	labels := live.GetLabels()
	graph, namespace := labels[v1alpha1.LabelGraph], labels[v1alpha1.LabelGraphNamespace]
	var policy *v1alpha1.ApplyPolicy
	if graph != "" {
		policy, err = r.policy(ctx, t.monitor, namespace, graph, live)
		switch {
		case apierrors.IsForbidden(err):
			// Whether the graph ignores a field isn't known, so that it does not is assumed.
			return unreadable(conflicts, t.monitor.Spec.ServiceAccountName, namespace, graph)
		case apierrors.IsNotFound(err): // pequod apply has applied the object, and no controller does
			graph = ""
		case err != nil:
			return fmt.Errorf("ResourceGraph %s/%s: %s", namespace, graph, identity.Reason(err))
		}
	}
	manager := "pequod"
	if policy != nil && policy.FieldManager != "" {
		manager = policy.FieldManager
	}
	for _, c := range conflicts {
		if graph != "" && c.manager == manager && (policy == nil || !ignored(policy.IgnoreFields, c.field)) {
			return fmt.Errorf("OwnedByGraph: field %s belongs to ResourceGraph %s/%s, which would take it back; add it to ignoreFields of the node to leave it to the Monitor",
				c.field, namespace, graph)
		}
		if tool := restorer(c.manager); tool != "" {
			return fmt.Errorf("field %s belongs to %s (field manager %q), which would take it back; remove the field from the manifests there to leave it to the Monitor",
				c.field, tool, c.manager)
		}
	}
	return nil
}

// restorer returns the name of the tool whose controller is a field manager and applies its manifests
// again and again, or "".
func restorer(manager string) string {
	switch manager {
	case "kustomize-controller", "helm-controller":
		return "Flux"
	case "argocd-controller", "argocd-application-controller":
		return "Argo CD"
	}
	return ""
}

// unreadable returns why fields of an object of a graph that the account may not read must not be
// applied, or nil if nobody owns them.
func unreadable(conflicts []conflict, account, namespace, graph string) error {
	for _, c := range conflicts {
		if c.manager != nobody {
			return fmt.Errorf("OwnedByGraph: field %s is owned by field manager %q, and the service account %s has no right to get ResourceGraph %s/%s, which may ignore the field",
				c.field, c.manager, account, namespace, graph)
		}
	}
	return nil
}

// graphs is the resource of ResourceGraphs.
var graphs = v1alpha1.GroupVersion.WithResource("resourcegraphs")

// policy returns the policy of the node of a graph that is an object, or nil. The graph is read as
// the account of the Monitor: anybody may write the labels that name the graph.
func (r *Reactor) policy(ctx context.Context, m *v1alpha1.Monitor, namespace, name string, live *unstructured.Unstructured) (*v1alpha1.ApplyPolicy, error) {
	client, err := r.Accounts.Dynamic(m.Namespace, m.Spec.ServiceAccountName)
	if err != nil {
		return nil, err
	}
	stored, err := client.Resource(graphs).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	g := &v1alpha1.ResourceGraph{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, g); err != nil {
		return nil, err
	}
	return policyOf(g, live), nil
}

// policyOf returns the policy of the node of a graph that is an object, or nil.
func policyOf(g *v1alpha1.ResourceGraph, live *unstructured.Unstructured) *v1alpha1.ApplyPolicy {
	for _, node := range g.Spec.Graph.Nodes {
		if node.Resource == nil {
			continue
		}
		var head struct {
			APIVersion, Kind string
			Metadata         struct{ Name, Namespace string }
		}
		if json.Unmarshal(node.Resource.Raw, &head) != nil {
			continue
		}
		kind := schema.FromAPIVersionAndKind(head.APIVersion, head.Kind).GroupKind() // in any version
		if kind == live.GroupVersionKind().GroupKind() && head.Metadata.Name == live.GetName() &&
			(head.Metadata.Namespace == "" && g.Namespace == live.GetNamespace() || head.Metadata.Namespace == live.GetNamespace()) {
			return node.ApplyPolicy
		}
	}
	return nil
}

// ignored reports whether a field is one of the paths, or below one.
func ignored(paths []string, field string) bool {
	for _, path := range paths {
		path = strings.TrimPrefix(path, ".")
		if field == path || strings.HasPrefix(field, path+".") || strings.HasPrefix(field, path+"[") {
			return true
		}
	}
	return false
}
