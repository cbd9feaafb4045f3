package install

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// stop ends the program, and waits until its last Pod is gone.
func (r *remover) stop(ctx context.Context, p *removal) error {
	for i, obj := range p.objects {
		if obj.GetKind() != "Deployment" {
			continue
		}
		p.objects = slices.Delete(p.objects, i, i+1)
		if err := r.remove(ctx, obj); err != nil {
			return err
		}
		return r.gone(ctx, []*unstructured.Unstructured{obj})
	}
	return nil
}

// removeRest removes what the program needed, the last installed first, and the
// namespace if nothing else is in it. Definitions go only with the graphs, and
// only where nothing of their kind is left.
func (r *remover) removeRest(ctx context.Context, p *removal, definitions, wait bool) error {
	var removed []*unstructured.Unstructured
	var namespace *unstructured.Unstructured
	for _, obj := range slices.Backward(p.objects) {
		switch obj.GetKind() {
		case kindNamespace:
			namespace = obj
			continue
		case kindCRD:
			if !definitions {
				continue
			}
			if used, err := r.used(ctx, obj); err != nil {
				return err
			} else if used != "" {
				fmt.Fprintf(r.err, "%s stays: %s\n", kubectlName(obj), used)
				continue
			}
		}
		if err := r.remove(ctx, obj); err != nil {
			return err
		}
		removed = append(removed, obj)
	}
	if namespace != nil {
		others, err := r.others(ctx, p)
		if err != nil {
			return err
		}
		if len(others) > 0 {
			fmt.Fprintf(r.err, "namespace/%s stays: it holds %s\n", installNamespace, few(others))
		} else {
			if err := r.remove(ctx, namespace); err != nil {
				return err
			}
			removed = append(removed, namespace)
		}
	}
	if !wait {
		return nil
	}
	return r.gone(ctx, removed)
}

// used says what there is of the kind that a definition defines.
func (r *remover) used(ctx context.Context, definition *unstructured.Unstructured) (string, error) {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	if r.dryRun != "none" && kind == graphKind.Kind {
		return "", nil // they would be gone by then
	}
	found, err := r.list(ctx, schema.GroupVersionKind{Group: group, Version: v1alpha1.Version, Kind: kind}, "")
	if err != nil || len(found) == 0 {
		return "", err
	}
	return "there is " + few(found), nil
}

// others finds what is in the applier's namespace that isn't of the applier, nor
// made by Kubernetes for every namespace, nor controlled by something else that
// is found.
func (r *remover) others(ctx context.Context, p *removal) ([]*unstructured.Unstructured, error) {
	kinds, err := r.applier.Client.Kinds().ListDeletable(ctx)
	if err != nil {
		return nil, err
	}
	var found []*unstructured.Unstructured
	for _, gvk := range kinds {
		switch gvk.Kind {
		case "Event", "Endpoints", "PodMetrics":
			continue // they tell of other objects
		}
		kind, err := r.applier.Client.Kinds().Find(ctx, gvk)
		if err != nil {
			return nil, err
		}
		if !kind.Namespaced || !slices.Contains(kind.Verbs, "list") {
			continue
		}
		items, err := r.list(ctx, gvk, installNamespace)
		if err != nil {
			return nil, fmt.Errorf("whether %s holds anything else can't be told: %w", installNamespace, err)
		}
		for _, obj := range items {
			obj.SetGroupVersionKind(gvk)
			if metav1.GetControllerOf(obj) == nil && !p.own[kubectlName(obj)] {
				found = append(found, obj)
			}
		}
	}
	return found, nil
}

// few names objects, of many the first.
func few(objects []*unstructured.Unstructured) string {
	const most = 3
	var names []string
	for _, obj := range objects[:min(most, len(objects))] {
		names = append(names, kubectlName(obj))
	}
	text := strings.Join(names, ", ")
	if more := len(objects) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
