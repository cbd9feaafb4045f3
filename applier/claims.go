package applier

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/configmap"
)

// resourceGraphs is the kind of graphs in the cluster.
var resourceGraphs = v1alpha1.GroupVersion.WithKind("ResourceGraph")

// claims returns the objects that other graphs of the namespace list: in their
// inventories, in the specs of ResourceGraphs in the cluster, which may not be
// applied yet, and in siblings. A claim only makes a graph a candidate: before an
// object is handed over, [Applier.checkClaim] looks for a proof. Revision is that of the
// stored inventory of owner, "" if there is none.
//
// A broken inventory is skipped: objects that its graph has applied carry the labels
// of that graph, so they aren't taken for this graph's. Suspended graphs in the
// cluster claim nothing by their specs.
func (a *Applier) claims(ctx context.Context, owner inventory.Owner, siblings []*v1alpha1.ResourceGraph) (_ inventory.Claims, revision string, _ error) {
	inventories, err := a.Inventories.List(ctx, owner.Namespace)
	if err := configmap.SkipUnreadable(err); err != nil {
		return inventory.Claims{}, "", err
	}
	for _, inv := range inventories {
		if inv.Owner == owner {
			revision = inv.Revision
		}
	}
	stored, err := a.StoredGraphs(ctx, owner.Namespace)
	if err != nil {
		return inventory.Claims{}, "", err
	}
	// An object of the same name in another cluster is another object.
	distant := map[inventory.Owner]bool{}
	for _, rg := range stored {
		if rg.Spec.KubeConfig != nil {
			distant[inventory.Owner{Namespace: rg.Namespace, Name: rg.Name}] = true
		}
	}
	inventories = slices.DeleteFunc(inventories, func(inv *inventory.Inventory) bool { return distant[inv.Owner] })
	// A graph that isn't applied yet claims objects by its spec. A sibling may be
	// newer than the stored graph of the same name; then both count.
	stored = slices.DeleteFunc(stored, func(rg *v1alpha1.ResourceGraph) bool { return !claimsBySpec(rg) })
	for _, rg := range append(stored, siblings...) {
		inventories = append(inventories, &inventory.Inventory{
			Owner:   inventory.Owner{Namespace: rg.Namespace, Name: rg.Name},
			Entries: engine.DesiredEntries(rg, a.namespaced(ctx)),
		})
	}
	return inventory.ClaimsOn(owner, inventories), revision, nil
}

// handsOver returns a function that reports whether a sibling hands an object
// over: the object belongs to it and it doesn't list the object any more. See
// [engine.Options].
func handsOver(rg *v1alpha1.ResourceGraph, siblings []*v1alpha1.ResourceGraph, namespaced func(schema.GroupVersionKind) (bool, bool)) func(inventory.Key, inventory.Owner) bool {
	listed := map[inventory.Owner]map[inventory.Key]bool{}
	for _, sibling := range siblings {
		if sibling.Namespace == rg.Namespace && sibling.Name == rg.Name {
			continue
		}
		keys := map[inventory.Key]bool{}
		for _, entry := range engine.DesiredEntries(sibling, namespaced) {
			keys[entry.Key] = true
		}
		// Observed owners come from labels, whose values are shortened names.
		listed[inventory.Owner{Namespace: sibling.Namespace, Name: v1alpha1.LabelValue(sibling.Name)}] = keys
	}
	return func(key inventory.Key, owner inventory.Owner) bool {
		keys, isSibling := listed[owner]
		return isSibling && !keys[key]
	}
}

// StoredGraphs returns the ResourceGraphs of a namespace. There are none if the cluster doesn't
// serve the kind.
func (a *Applier) StoredGraphs(ctx context.Context, namespace string) ([]*v1alpha1.ResourceGraph, error) {
	list, err := a.Client.List(ctx, cluster.Selection{GVK: resourceGraphs, Namespace: namespace})
	var noKind *cluster.NoKindError
	if errors.As(err, &noKind) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the ResourceGraphs of namespace %s: %w", namespace, err)
	}
	var graphs []*v1alpha1.ResourceGraph
	for i := range list.Objects {
		rg, err := decodeGraph(&list.Objects[i])
		if err != nil {
			return nil, fmt.Errorf("ResourceGraph %s/%s: %w", namespace, list.Objects[i].GetName(), err)
		}
		graphs = append(graphs, rg)
	}
	return graphs, nil
}

// StoredGraph reads a ResourceGraph from the cluster. It is nil if there is none,
// or if the cluster doesn't serve the kind.
func (a *Applier) StoredGraph(ctx context.Context, owner inventory.Owner) (*v1alpha1.ResourceGraph, error) {
	key := inventory.Key{Group: resourceGraphs.Group, Kind: resourceGraphs.Kind, Namespace: owner.Namespace, Name: owner.Name}
	obj, err := a.Client.Get(ctx, key, resourceGraphs.Version)
	var noKind *cluster.NoKindError
	switch {
	case errors.As(err, &noKind):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("graph %s: %w", owner, err)
	case obj == nil:
		return nil, nil
	}
	rg, err := decodeGraph(obj)
	if err != nil {
		return nil, fmt.Errorf("graph %s: %w", owner, err)
	}
	return rg, nil
}

// decodeGraph converts an object of the cluster to a graph.
func decodeGraph(obj *unstructured.Unstructured) (*v1alpha1.ResourceGraph, error) {
	rg := &v1alpha1.ResourceGraph{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, rg); err != nil {
		return nil, err
	}
	return rg, nil
}
