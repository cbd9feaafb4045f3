package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/cli/progress"
	"github.com/pequod-io/pequod/inventory"
)

// releaseGraphs lets go of everything that graphs manage, and then removes the
// graphs. A graph of which something can't be released stays, with its finalizer,
// and the definition with it.
func (r *remover) releaseGraphs(ctx context.Context, p *removal) error {
	stores := graphStores{Inventories: r.applier.Inventories, graphs: map[inventory.Owner]*v1alpha1.ResourceGraph{}}
	owners := make([]inventory.Owner, len(p.graphs))
	shown := make([]progress.Graph, len(p.graphs))
	for i, g := range p.graphs {
		rg := &v1alpha1.ResourceGraph{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(g.Object, rg); err != nil {
			return fmt.Errorf("graph %s/%s: %w", g.GetNamespace(), g.GetName(), err)
		}
		owners[i] = inventory.Owner{Namespace: rg.Namespace, Name: rg.Name}
		shown[i].Owner = owners[i]
		stores.graphs[owners[i]] = rg
	}
	if r.dryRun != "none" {
		return r.sayReleased(ctx, p, stores)
	}
	a := *r.applier
	a.Inventories = stores
	sink := progress.NewLines(r.err, shown)
	flags := runFlags{wait: true} // the context ends it in time
	ends := runEach(ctx, sink, progress.Delete, owners,
		func(ctx context.Context, i int, report func(applier.Event)) (*applier.Result, error) {
			opts := flags.options()
			opts.Orphan, opts.Report = true, report
			return a.Delete(ctx, owners[i], opts)
		})
	sink.Close()
	for _, e := range ends {
		progress.Summary(r.err, e, false)
	}
	printRunErrors(r.err, ends)
	code := exitYes
	var removed []*unstructured.Unstructured
	for i, e := range ends {
		if code = max(code, endCode(e)); !e.Ready() {
			continue
		}
		if err := r.forget(ctx, p.graphs[i]); err != nil {
			return err
		}
		removed = append(removed, p.graphs[i])
	}
	if code != exitYes {
		return saidError{code}
	}
	return r.gone(ctx, removed)
}

// sayReleased says what would become of graphs.
func (r *remover) sayReleased(ctx context.Context, p *removal, stores graphStores) error {
	for _, g := range p.graphs {
		inv, err := stores.Load(ctx, inventory.Owner{Namespace: g.GetNamespace(), Name: g.GetName()})
		if err != nil {
			return err
		}
		for _, e := range slices.Backward(inv.Entries) {
			obj := &unstructured.Unstructured{}
			obj.SetGroupVersionKind(schema.GroupVersionKind{Group: e.Group, Version: e.Version, Kind: e.Kind})
			obj.SetNamespace(e.Namespace)
			obj.SetName(e.Name)
			if err := r.say(obj, "released"); err != nil {
				return err
			}
		}
		if err := r.remove(ctx, g); err != nil {
			return err
		}
	}
	return nil
}

// finalizers begin so if they are an applier's.
const finalizers = "pequod.io/"

// forget removes a graph that holds nothing any more.
func (r *remover) forget(ctx context.Context, g *unstructured.Unstructured) error {
	err := cluster.Retry(ctx, func() error {
		live, err := r.get(ctx, g)
		if err != nil || live == nil {
			return err
		}
		kept := slices.DeleteFunc(slices.Clone(live.GetFinalizers()), func(name string) bool {
			return strings.HasPrefix(name, finalizers)
		})
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"uid": live.GetUID(), "resourceVersion": live.GetResourceVersion(), "finalizers": kept,
		}})
		if err != nil {
			return err
		}
		resource, err := r.resource(ctx, graphKind, g.GetNamespace())
		if err != nil {
			return err
		}
		_, err = resource.Patch(ctx, g.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
		if apierrors.IsNotFound(err) {
			return nil // it was being deleted, and is gone
		}
		return err
	})
	if err != nil {
		return err
	}
	return r.remove(ctx, g)
}

// graphStores knows the inventories that are kept in the status of graphs, and
// leaves the others to where they are kept.
type graphStores struct {
	applier.Inventories
	graphs map[inventory.Owner]*v1alpha1.ResourceGraph
}

// Load reads what a graph owns.
func (s graphStores) Load(ctx context.Context, owner inventory.Owner) (*inventory.Inventory, error) {
	kept, here := s.inStatus(owner)
	if !here {
		return s.Inventories.Load(ctx, owner)
	}
	return inventory.OfStatus(owner, kept), nil
}

// Save records nothing in a status: it goes with its graph, and a run that was
// interrupted finds out what was released already.
func (s graphStores) Save(ctx context.Context, inv *inventory.Inventory) error {
	if _, here := s.inStatus(inv.Owner); here {
		return nil
	}
	return s.Inventories.Save(ctx, inv)
}

// Remove leaves a status to the removal of its graph.
func (s graphStores) Remove(ctx context.Context, inv *inventory.Inventory) error {
	if _, here := s.inStatus(inv.Owner); here {
		return nil
	}
	return s.Inventories.Remove(ctx, inv)
}

func (s graphStores) inStatus(owner inventory.Owner) (*v1alpha1.Inventory, bool) {
	rg := s.graphs[owner]
	if rg == nil || rg.Status.Inventory == nil || rg.Status.Inventory.ConfigMap != "" {
		return nil, false
	}
	return rg.Status.Inventory, true
}
