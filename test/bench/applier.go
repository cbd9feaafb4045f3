package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/configmap"
)

// graphName is the name of every graph of the part cli: each has a namespace of
// its own.
const graphName = "bench"

// prepareApplier returns a function that applies or deletes the graph of a
// workload with the library and the options that `pequod apply` uses. Events are
// discarded, as printing them is not measured. The client is created in the timed
// part, because the command creates one too.
func prepareApplier(load workload, namespace, verb string, config *rest.Config) (func(context.Context) error, error) {
	rg, err := load.graph(namespace)
	if err != nil {
		return nil, err
	}
	options := applier.Options{
		Options: engine.Options{Prune: true, ExplainInterval: 2 * time.Second, PollInterval: 30 * time.Second},
		Timeout: 5 * time.Minute, Wait: true,
		Report: func(applier.Event) {},
	}
	return func(ctx context.Context) error {
		client, err := cluster.New(config)
		if err != nil {
			return err
		}
		a := &applier.Applier{Client: client, Inventories: configmap.NewStore(client.REST())}
		var result *applier.Result
		if verb == remove {
			result, err = a.Delete(ctx, inventory.Owner{Namespace: rg.Namespace, Name: rg.Name}, options)
		} else {
			result, err = a.Apply(ctx, rg, options)
		}
		if err != nil {
			return err
		}
		return checkCompleted(result)
	}, nil
}

// checkCompleted returns an error unless the run completed, so that a fast
// failure cannot pass for a fast run. It names the first node that failed.
func checkCompleted(result *applier.Result) error {
	if result.Phase == engine.Completed {
		return nil
	}
	for _, s := range result.Statuses {
		if s.Phase == v1alpha1.NodeFailed {
			return fmt.Errorf("%s: %s: %s", s.Key, s.Reason, s.Message)
		}
	}
	return fmt.Errorf("phase %s", result.Phase)
}

// graph returns the workload as a graph. Every node depends on the awaited
// objects of the level before its own, for which the floor waits too. Ids of
// nodes are like "deployments-pair-0-1".
func (w workload) graph(namespace string) (*v1alpha1.ResourceGraph, error) {
	rg := &v1alpha1.ResourceGraph{}
	rg.APIVersion, rg.Kind = v1alpha1.Group+"/"+v1alpha1.Version, "ResourceGraph"
	rg.Namespace, rg.Name = namespace, graphName
	var before []string
	for _, objects := range w.objects(namespace) {
		var awaited []string
		for _, o := range objects {
			raw, err := json.Marshal(o.body)
			if err != nil {
				return nil, err
			}
			id := o.kind.resource + "-" + o.name
			rg.Spec.Graph.Nodes = append(rg.Spec.Graph.Nodes, v1alpha1.Node{
				ID: id, Resource: &runtime.RawExtension{Raw: raw}, Dependencies: before,
			})
			if o.kind.awaited {
				awaited = append(awaited, id)
			}
		}
		before = awaited
	}
	var err error
	rg.Spec.RenderHash, err = graph.RenderHash(rg.Spec.Graph)
	return rg, err
}
