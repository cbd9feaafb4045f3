package applier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

var resourceGraphs = schema.GroupVersionKind{Group: v1alpha1.Group, Version: v1alpha1.Version, Kind: "ResourceGraph"}

// claims tells what other graphs of a namespace list: by their inventories, by
// what the ResourceGraphs in the cluster say that is to come, and by the graphs
// that are applied beside this one.
func (a *Applier) claims(ctx context.Context, owner inventory.Owner, siblings []*v1alpha1.ResourceGraph) (inventory.Claims, error) {
	inventories, err := a.Inventories.List(ctx, owner.Namespace)
	if err != nil {
		return inventory.Claims{}, err
	}
	stored, err := a.storedGraphs(ctx, owner.Namespace)
	if err != nil {
		return inventory.Claims{}, err
	}
	for _, rg := range append(stored, siblings...) {
		inventories = append(inventories, &inventory.Inventory{
			Owner:   inventory.Owner{Namespace: rg.Namespace, Name: rg.Name},
			Entries: engine.DesiredEntries(rg, a.namespaced(ctx)),
		})
	}
	return inventory.ClaimsOn(owner, inventories), nil
}

// yields tells which objects the graphs that are applied beside one hand over: of
// their own, those that they no longer list.
func yields(rg *v1alpha1.ResourceGraph, siblings []*v1alpha1.ResourceGraph, namespaced func(schema.GroupVersionKind) (bool, bool)) func(inventory.Key, inventory.Owner) bool {
	listed := map[inventory.Owner]map[inventory.Key]bool{}
	for _, other := range siblings {
		if other.Namespace == rg.Namespace && other.Name == rg.Name {
			continue
		}
		keys := map[inventory.Key]bool{}
		for _, entry := range engine.DesiredEntries(other, namespaced) {
			keys[entry.Key] = true
		}
		listed[inventory.Owner{Namespace: other.Namespace, Name: v1alpha1.LabelValue(other.Name)}] = keys
	}
	return func(key inventory.Key, owner inventory.Owner) bool {
		keys, beside := listed[owner]
		return beside && !keys[key]
	}
}

// storedGraphs are the ResourceGraphs of a namespace, none where the cluster
// doesn't know the kind.
func (a *Applier) storedGraphs(ctx context.Context, namespace string) ([]*v1alpha1.ResourceGraph, error) {
	items, err := a.Client.ListObjects(ctx, resourceGraphs, namespace, "", "")
	var noKind *cluster.NoKindError
	if errors.As(err, &noKind) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the ResourceGraphs of namespace %s: %w", namespace, err)
	}
	var graphs []*v1alpha1.ResourceGraph
	for i := range items {
		rg := &v1alpha1.ResourceGraph{}
		raw, err := json.Marshal(items[i].Object)
		if err == nil {
			err = json.Unmarshal(raw, rg)
		}
		if err != nil {
			return nil, fmt.Errorf("ResourceGraph %s/%s: %w", namespace, items[i].GetName(), err)
		}
		if rg.DeletionTimestamp == nil {
			graphs = append(graphs, rg)
		}
	}
	return graphs, nil
}
