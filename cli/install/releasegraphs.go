package install

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/cli/execute"
	"github.com/pequod-io/pequod/cli/progress"
	"github.com/pequod-io/pequod/inventory"
)

// releaseGraphs releases all objects of the graphs and then removes the graphs.
// If an object can't be released, its graph keeps its finalizer and stays.
//
// The steps are: release the graphs concurrently, print a summary of each, remove
// the graphs that own nothing any more, and wait until these are gone. If a graph
// failed, the error is the exit code, and uninstall stops before it removes the
// rest. No applier may be running; see checkLeases.
func (r *remover) releaseGraphs(ctx context.Context, graphs []*unstructured.Unstructured) error {
	if r.dryRun != "none" {
		return r.previewRelease(ctx, graphs)
	}
	owners := make([]inventory.Owner, len(graphs))
	for i, g := range graphs {
		owners[i] = ownerOf(g)
	}
	flags := execute.RunFlags{Wait: true}
	if deadline, ok := ctx.Deadline(); ok {
		// The runs time out shortly before ctx. They then report what is left,
		// while the end of ctx would count as an interrupt.
		flags.Timeout = max(time.Until(deadline)-time.Second, time.Millisecond)
	}
	sink := progress.NewLines(r.env.Err, progress.GraphsOf(owners))
	outcomes := execute.RunEach(ctx, sink, progress.Delete, owners,
		func(ctx context.Context, i int, report func(applier.Event)) (*applier.Result, error) {
			opts := flags.ApplierOptions()
			opts.Orphan, opts.Report = true, report
			return r.applier.Delete(ctx, owners[i], opts)
		})
	failed := flags.Finish(r.env, sink, outcomes)
	// Graphs that were released completely are removed even if others failed: a
	// repeated uninstall then has less to do.
	var removed []*unstructured.Unstructured
	for i, outcome := range outcomes {
		if !outcome.Ready() {
			continue
		}
		if err := r.removeGraph(ctx, graphs[i]); err != nil {
			return err
		}
		removed = append(removed, graphs[i])
	}
	if failed != nil {
		return failed
	}
	return r.wait(ctx, removed)
}

// previewRelease prints the effects of releaseGraphs, from the inventories. It
// sends no requests for the objects themselves, so it doesn't know which of them
// still exist.
func (r *remover) previewRelease(ctx context.Context, graphs []*unstructured.Unstructured) error {
	for _, g := range graphs {
		inv, err := r.applier.Inventories.Load(ctx, ownerOf(g))
		if err != nil {
			return err
		}
		// Objects are released in the reverse order of their apply.
		for _, e := range slices.Backward(inv.Entries) {
			obj := &unstructured.Unstructured{}
			obj.SetGroupVersionKind(schema.GroupVersionKind{Group: e.Group, Version: e.Version, Kind: e.Kind})
			obj.SetNamespace(e.Namespace)
			obj.SetName(e.Name)
			if err := r.print(obj, "released"); err != nil {
				return err
			}
		}
		if err := r.delete(ctx, g); err != nil {
			return err
		}
	}
	return nil
}

// removeGraph deletes a graph that owns nothing any more. It removes the applier's
// finalizer first, because no applier is left that would do it. The patch is bound
// to the UID and version that were read: another client may change the finalizers
// at the same time.
func (r *remover) removeGraph(ctx context.Context, g *unstructured.Unstructured) error {
	err := r.do(ctx, g, func(resource dynamic.ResourceInterface) error {
		live, err := resource.Get(ctx, g.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		others := slices.DeleteFunc(live.GetFinalizers(), func(name string) bool { return name == v1alpha1.Finalizer })
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"uid": live.GetUID(), "resourceVersion": live.GetResourceVersion(), "finalizers": others,
		}})
		if err != nil {
			return err
		}
		_, err = resource.Patch(ctx, g.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
	if err != nil {
		return err
	}
	return r.delete(ctx, g)
}

// ownerOf returns the owner under which the inventory of a graph is stored: its
// own namespace and name.
func ownerOf(g *unstructured.Unstructured) inventory.Owner {
	return inventory.Owner{Namespace: g.GetNamespace(), Name: g.GetName()}
}
