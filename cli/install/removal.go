package install

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
)

// removal is what there is to be removed.
type removal struct {
	// objects are those of the installation that exist, in the order in which
	// they are installed.
	objects []*unstructured.Unstructured
	graphs  []*unstructured.Unstructured
	// own are the names of objects, and of those that Kubernetes makes in every
	// namespace.
	own map[string]bool
}

// empty says that of the applier there is nothing but its definitions.
func (p *removal) empty() bool {
	return !slices.ContainsFunc(p.objects, func(obj *unstructured.Unstructured) bool { return obj.GetKind() != kindCRD })
}

var graphKind = v1alpha1.GroupVersion.WithKind("ResourceGraph")

// refuse says why nothing can be removed.
func (p *removal) refuse(orphan bool) error {
	var ps problem.List
	for _, obj := range p.objects {
		if obj.GetKind() != "ClusterRoleBinding" {
			continue
		}
		subjects, _, _ := unstructured.NestedSlice(obj.Object, "subjects")
		for _, subject := range subjects {
			if s, ok := subject.(map[string]any); ok && s["namespace"] != installNamespace {
				ps = append(ps, problem.Problem{
					Rule: problem.RuleGraph,
					Message: fmt.Sprintf("the applier is in namespace %v, as %s says, and not in %s: remove it by what installed it there",
						s["namespace"], kubectlName(obj), installNamespace),
				})
				return ps
			}
		}
	}
	if orphan {
		return nil
	}
	for _, g := range p.graphs {
		if g.GetDeletionTimestamp() != nil {
			ps = append(ps, problem.Problem{
				Rule: problem.RuleGraph,
				Message: fmt.Sprintf("ResourceGraph %s/%s is being deleted, and without an applier it would wait for ever: "+
					"uninstall when it is gone, or with --orphan-graphs", g.GetNamespace(), g.GetName()),
			})
		}
	}
	if len(ps) > 0 {
		return ps
	}
	return nil
}

// plan finds out what there is.
func (r *remover) plan(ctx context.Context) (*removal, error) {
	installed, err := applierManifests("", false)
	if err != nil {
		return nil, err
	}
	lease := &unstructured.Unstructured{}
	lease.SetGroupVersionKind(schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"})
	lease.SetNamespace(installNamespace)
	lease.SetName(installName)
	p := &removal{own: map[string]bool{"configmap/kube-root-ca.crt": true, "serviceaccount/default": true}}
	for _, obj := range append(installed.objects, lease) {
		live, err := r.get(ctx, obj)
		if err != nil {
			return nil, err
		}
		if live != nil {
			p.objects = append(p.objects, live)
			p.own[kubectlName(live)] = true
		}
	}
	p.graphs, err = r.list(ctx, graphKind, "")
	return p, err
}
