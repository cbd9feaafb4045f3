package main

import (
	"encoding/json"
	"fmt"

	"github.com/pequod-io/pequod/api/graph"
)

// manyGraphs is the workload of many graphs of four objects each.
const manyGraphs = "graphs"

// objectsPerGraph is the number of objects of every graph of manyGraphs.
const objectsPerGraph = 4

// graphLevels returns n ResourceGraphs and, for the floor, their objects as a
// second level. If a controller executes the graphs, the caller waits until they
// are ready. Without one, the floor creates the graphs too, so that both
// contestants make the same objects. The graphs are named app-0, app-1 and so on,
// like their objects.
func graphLevels(namespace string, n int, executed bool) ([][]object, error) {
	var graphs, objects []object
	for i := range n {
		name := fmt.Sprintf("app-%d", i)
		of := appObjects(namespace, name)
		g, err := newGraph(namespace, name, appNodes(of))
		if err != nil {
			return nil, err
		}
		g.kind.awaited = executed
		graphs, objects = append(graphs, g), append(objects, of...)
	}
	if executed {
		return [][]object{graphs}, nil
	}
	return [][]object{graphs, objects}, nil
}

// appObjects returns the objects of one graph: a small application as the design
// imagines it. Their number is objectsPerGraph.
func appObjects(namespace, name string) []object {
	return []object{
		newObject(serviceAccounts, namespace, name, map[string]any{}),
		newObject(configMaps, namespace, name, map[string]any{"data": map[string]any{"mode": "wanted"}}),
		service(namespace, name),
		deployment(namespace, name),
	}
}

// appNodes returns the nodes of one graph. The Deployment depends on the objects
// that its Pods use.
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

// newGraph returns a ResourceGraph as `pequod render` writes it, with the hash of
// its content.
func newGraph(namespace, name string, nodes []any) (object, error) {
	content := map[string]any{"nodes": nodes}
	raw, err := json.Marshal(content)
	if err != nil {
		return object{}, err
	}
	return newObject(resourceGraphs, namespace, name, map[string]any{"spec": map[string]any{
		"sourceRef":   map[string]any{"apiVersion": "pequod.io/v1alpha1", "kind": "App", "name": name},
		"platformRef": map[string]any{"module": "example.com/app"},
		"renderHash":  graph.HashJSON(raw),
		"graph":       content,
	}}), nil
}
