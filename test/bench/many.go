package main

import (
	"encoding/json"
	"fmt"

	"github.com/pequod-io/pequod/api/graph"
)

// many is the load of many graphs of four objects.
const many = "graphs"

// objectsEach is how many objects each of many graphs has.
const objectsEach = 4

// levels are what is sent for many graphs: by the floor the graphs, which nobody
// executes, and then their objects; otherwise the graphs, to be waited for.
func (j job) levels() ([][]object, error) {
	var graphs, objects []object
	for i := range j.graphs {
		name := fmt.Sprintf("app-%d", i)
		of := appObjects(j.namespace, name)
		g, err := newGraph(j.namespace, name, appNodes(of))
		if err != nil {
			return nil, err
		}
		g.kind.awaited = j.who == byApplier
		graphs, objects = append(graphs, g), append(objects, of...)
	}
	if j.who == byApplier {
		return [][]object{graphs}, nil
	}
	return [][]object{graphs, objects}, nil
}

func appObjects(namespace, name string) []object {
	return []object{
		newObject(serviceAccounts, namespace, name, map[string]any{}),
		newObject(configMaps, namespace, name, map[string]any{"data": map[string]any{"mode": wanted}}),
		service(namespace, name),
		deployment(namespace, name),
	}
}

// wanted is what every ConfigMap says under mode.
const wanted = "wanted"

// appNodes are the nodes of a graph; the Deployment needs what its Pods use.
func appNodes(objects []object) []any {
	var nodes []any
	for _, o := range objects {
		node := map[string]any{"id": o.kind.resource, "resource": o.body}
		if o.kind == deployments {
			node["dependencies"] = []any{serviceAccounts.resource, configMaps.resource}
		}
		nodes = append(nodes, node)
	}
	return nodes
}

// newGraph is a ResourceGraph as pequod renders it.
func newGraph(namespace, name string, nodes []any) (object, error) {
	content := map[string]any{"nodes": nodes}
	raw, err := json.Marshal(content)
	if err != nil {
		return object{}, err
	}
	return newObject(resourceGraphs, namespace, name, map[string]any{"spec": map[string]any{
		"sourceRef":   map[string]any{"apiVersion": "pequod.io/v1alpha1", "kind": "App", "name": name},
		"platformRef": map[string]any{"module": "example.com/app"},
		"renderHash":  graph.Hash(raw),
		"graph":       content,
	}}), nil
}
