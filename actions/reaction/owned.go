package reaction

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// nobody is the manager that the API server invents for fields that nobody owns, such as defaults.
const nobody = "before-first-apply"

// judge returns why fields with other owners must not be applied, or nil if they are ignored
// fields of the graph that the object belongs to.
func (r *Reactor) judge(ctx context.Context, t target, conflicts []conflict) error {
	live, err := t.objects.Get(ctx, t.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	labels := live.GetLabels()
	graph, namespace := labels[v1alpha1.LabelGraph], labels[v1alpha1.LabelGraphNamespace]
	var policy *v1alpha1.ApplyPolicy
	if graph != "" {
		if policy, err = r.policy(ctx, namespace, graph, live); err != nil {
			return fmt.Errorf("ResourceGraph %s/%s: %w", namespace, graph, err)
		}
	}
	manager := "pequod"
	if policy != nil && policy.FieldManager != "" {
		manager = policy.FieldManager
	}
	for _, c := range conflicts {
		switch {
		case c.manager == nobody:
		case graph == "" || c.manager != manager:
			return fmt.Errorf("field %s is owned by field manager %q", c.field, c.manager)
		case policy == nil || !ignored(policy.IgnoreFields, c.field):
			return fmt.Errorf("OwnedByGraph: field %s belongs to ResourceGraph %s/%s, which would take it back; add it to ignoreFields of the node to leave it to the Monitor",
				c.field, namespace, graph)
		}
	}
	return nil
}

// policy returns the policy of the node of a graph that is an object, or nil.
func (r *Reactor) policy(ctx context.Context, namespace, graph string, live *unstructured.Unstructured) (*v1alpha1.ApplyPolicy, error) {
	g := &v1alpha1.ResourceGraph{}
	if err := r.Graphs.Get(ctx, client.ObjectKey{Namespace: namespace, Name: graph}, g); err != nil {
		return nil, err
	}
	for _, node := range g.Spec.Graph.Nodes {
		if node.Resource == nil {
			continue
		}
		var head struct {
			Kind     string
			Metadata struct{ Name, Namespace string }
		}
		if json.Unmarshal(node.Resource.Raw, &head) != nil {
			continue
		}
		if head.Kind == live.GetKind() && head.Metadata.Name == live.GetName() &&
			(head.Metadata.Namespace == "" || head.Metadata.Namespace == live.GetNamespace()) {
			return node.ApplyPolicy, nil
		}
	}
	return nil, nil
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
