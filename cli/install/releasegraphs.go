package install

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/execute"
	"github.com/pequod-io/pequod/cli/progress"
	"github.com/pequod-io/pequod/inventory"
)

// releaseGraphs lets go of everything that graphs manage, and then removes the
// graphs. A graph of which something can't be released stays, with its finalizer,
// and the definition with it.
func (r *remover) releaseGraphs(ctx context.Context, p *removal) error {
	if r.dryRun != "none" {
		return r.sayReleased(ctx, p)
	}
	owners := make([]inventory.Owner, len(p.graphs))
	shown := make([]progress.Graph, len(p.graphs))
	for i, g := range p.graphs {
		owners[i] = inventory.Owner{Namespace: g.GetNamespace(), Name: g.GetName()}
		shown[i].Owner = owners[i]
	}
	sink := progress.NewLines(r.err, shown)
	flags := execute.RunFlags{Wait: true}
	if deadline, ok := ctx.Deadline(); ok {
		// A moment before ctx, to say how far it came instead of being cut off.
		flags.Timeout = max(time.Until(deadline)-time.Second, time.Millisecond)
	}
	ends := execute.RunEach(ctx, sink, progress.Delete, owners,
		func(ctx context.Context, i int, report func(applier.Event)) (*applier.Result, error) {
			opts := flags.ApplierOptions()
			opts.Orphan, opts.Report = true, report
			return r.applier.Delete(ctx, owners[i], opts)
		})
	sink.Close()
	for _, e := range ends {
		progress.Summary(r.err, e, false)
	}
	execute.PrintErrors(r.err, ends)
	code := command.ExitOK
	var removed []*unstructured.Unstructured
	for i, e := range ends {
		if code = max(code, execute.ExitCode(e)); !e.Ready() {
			continue
		}
		if err := r.forget(ctx, p.graphs[i]); err != nil {
			return err
		}
		removed = append(removed, p.graphs[i])
	}
	if code != command.ExitOK {
		return command.ExitError{Code: code}
	}
	return r.gone(ctx, removed)
}

// sayReleased says what would become of graphs.
func (r *remover) sayReleased(ctx context.Context, p *removal) error {
	for _, g := range p.graphs {
		inv, err := r.applier.Inventories.Load(ctx, inventory.Owner{Namespace: g.GetNamespace(), Name: g.GetName()})
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

// forget removes a graph that holds nothing any more.
func (r *remover) forget(ctx context.Context, g *unstructured.Unstructured) error {
	err := cluster.Retry(ctx, func() error {
		live, err := r.get(ctx, g)
		if err != nil || live == nil {
			return err
		}
		kept := slices.DeleteFunc(slices.Clone(live.GetFinalizers()), func(name string) bool {
			return name == v1alpha1.Finalizer
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
