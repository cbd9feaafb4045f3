package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/configmap"
)

const (
	// The pause between two attempts to watch begins at firstRetry and doubles up to
	// lastRetry. A person is waiting, so it stays short.
	firstRetry = 250 * time.Millisecond
	lastRetry  = 5 * time.Second
	// kindRetry is the pause if the cluster has no ResourceGraphs: their definition may be
	// installed later.
	kindRetry = 10 * time.Second
)

// Run watches the graphs until ctx is done.
func (c *Catalog) Run(ctx context.Context) {
	var group sync.WaitGroup
	for o, from := range c.places() {
		group.Go(func() { c.watch(ctx, origin(o), from.selection, from.read) })
	}
	group.Wait()
}

// place is where the graphs of an origin are in the cluster. read returns the summary of an object.
type place struct {
	selection cluster.Selection
	read      func(context.Context, *unstructured.Unstructured) (Summary, error)
}

// places returns the places of fromGraphs and fromInventories.
func (c *Catalog) places() [2]place {
	return [2]place{
		fromGraphs: {cluster.Selection{
			GVK: v1alpha1.GroupVersion.WithKind("ResourceGraph"), Namespace: c.namespace,
		}, c.readGraph},
		fromInventories: {cluster.Selection{
			GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: c.namespace, Labels: configmap.Selector,
		}, c.readInventory},
	}
}

// watch keeps the summaries of one origin up to date. Read returns the summary of an
// object. The objects of a list are dropped as soon as they are read.
func (c *Catalog) watch(ctx context.Context, o origin, s cluster.Selection, read func(context.Context, *unstructured.Unstructured) (Summary, error)) {
	for pause := firstRetry; ctx.Err() == nil; pause = min(2*pause, lastRetry) {
		fresh := map[inventory.Owner]Summary{}
		keep := func(obj *unstructured.Unstructured) bool {
			summary := c.summary(ctx, obj, read)
			fresh[summary.owner()] = summary
			return false
		}
		err := c.applier.Client.ListAndWatch(ctx, s, keep, func(e cluster.Event) bool {
			c.change(func() {
				c.listed[o], c.problems[o] = true, ""
				if e.Listing != nil {
					c.known[o] = maps.Clone(fresh)
				}
			})
			pause = firstRetry
			if e.Object != nil {
				c.event(ctx, o, e, read)
			}
			return ctx.Err() == nil
		})
		wait := pause
		var noKind *cluster.NoKindError
		switch {
		case errors.As(err, &noKind):
			c.change(func() { c.listed[o], c.problems[o], c.known[o] = true, "", map[inventory.Owner]Summary{} })
			wait = kindRetry
		case err != nil && ctx.Err() == nil:
			c.change(func() { c.problems[o] = fmt.Sprintf("%s: %v", s.GVK.Kind+"s", kube.Error(err)) })
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// event applies the change of one object.
func (c *Catalog) event(ctx context.Context, o origin, e cluster.Event, read func(context.Context, *unstructured.Unstructured) (Summary, error)) {
	if e.Deleted {
		owner := ownerOf(e.Object)
		c.change(func() { delete(c.known[o], owner) })
		return
	}
	summary := c.summary(ctx, e.Object, read)
	c.change(func() { c.known[o][summary.owner()] = summary })
}

// summary returns the summary of an object. One that can't be read is shown as failed:
// the list lacks nothing.
func (c *Catalog) summary(ctx context.Context, obj *unstructured.Unstructured, read func(context.Context, *unstructured.Unstructured) (Summary, error)) Summary {
	summary, err := read(ctx, obj)
	if err != nil {
		owner := ownerOf(obj)
		summary = Summary{Namespace: owner.Namespace, Name: owner.Name, State: Failed, Ready: -1, Message: oneLine(err.Error())}
	}
	return summary
}

// ownerOf returns the graph that an object is or belongs to.
func ownerOf(obj *unstructured.Unstructured) inventory.Owner {
	if name := obj.GetLabels()[v1alpha1.LabelGraph]; obj.GetKind() == "ConfigMap" && name != "" {
		return inventory.Owner{Namespace: obj.GetNamespace(), Name: name}
	}
	return inventory.Owner{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

func (c *Catalog) readGraph(_ context.Context, obj *unstructured.Unstructured) (Summary, error) {
	rg := &v1alpha1.ResourceGraph{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, rg); err != nil {
		return Summary{}, err
	}
	return ofGraph(rg), nil
}

// readInventory reads the head of an inventory. The parts of a large one are read with
// requests of their own.
func (c *Catalog) readInventory(ctx context.Context, obj *unstructured.Unstructured) (Summary, error) {
	head := &corev1.ConfigMap{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, head); err != nil {
		return Summary{}, err
	}
	inv, err := configmap.OfHead(head)
	if errors.Is(err, configmap.ErrParts) {
		inv, err = c.applier.Inventories.Load(ctx, ownerOf(obj))
	}
	if err != nil {
		return Summary{}, err
	}
	s := ofInventory(inv)
	s.Created = head.CreationTimestamp.UTC()
	return s, nil
}
