package applier

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// withHandovers returns a copy of a graph that may adopt the objects that siblings
// will have handed over: objects that belong to a sibling which doesn't list them
// any more. It returns nil if the plan fails for no such object.
func (a *Applier) withHandovers(ctx context.Context, rg *v1alpha1.ResourceGraph, plan *Plan, siblings []*v1alpha1.ResourceGraph) *v1alpha1.ResourceGraph {
	adopt := &v1alpha1.Adopt{Mode: v1alpha1.AdoptExplicit}
	if rg.Spec.Adopt != nil {
		adopt = rg.Spec.Adopt.DeepCopy()
	}
	if adopt.Strategy == v1alpha1.AdoptMirror {
		return nil // listed objects would only be mirrored
	}
	before := len(adopt.Resources)
	for _, n := range plan.Nodes {
		if n.Failure == nil || n.Failure.Reason != engine.ReasonOwnedElsewhere || n.Live == nil {
			continue
		}
		// The plan failed because the object belongs to another graph. Find a sibling
		// that owns it and no longer lists it.
		for _, sibling := range siblings {
			owner := inventory.Owner{Namespace: sibling.Namespace, Name: sibling.Name}
			lists := slices.ContainsFunc(engine.DesiredEntries(sibling, a.namespaced(ctx)), func(e inventory.Entry) bool { return e.Key == n.Key })
			if owner.Owns(n.Live.GetLabels()) && !lists {
				gv := schema.GroupVersion{Group: n.Key.Group, Version: n.Version}
				adopt.Resources = append(adopt.Resources, v1alpha1.ObjectRef{
					APIVersion: gv.String(), Kind: n.Key.Kind, Namespace: n.Key.Namespace, Name: n.Key.Name,
				})
			}
		}
	}
	if len(adopt.Resources) == before {
		return nil
	}
	rg = rg.DeepCopy() // the caller keeps its graph unchanged
	rg.Spec.Adopt = adopt
	return rg
}
