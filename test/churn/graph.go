package churn

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// graph is the desired content of a ResourceGraph: its nodes by id. Ids are "n0"
// to "n6"; the object of a node is named after graph and node, such as "g2-n5".
type graph struct{ nodes map[string]*node }

// node is a ConfigMap or a Deployment; both carry a value. A Deployment has it in
// the label "value" and in the tag of its image, a ConfigMap in that label and in
// its data.
type node struct {
	kind  string
	value string
	needs string // the id of another, "" for none
	reads bool   // from that other, its value
}

// apiVersion returns the API version of the node's kind.
func (n *node) apiVersion() string {
	if n.kind == "Deployment" {
		return "apps/v1"
	}
	return "v1"
}

// most is the number of different node ids. It is small so that removed ids come
// back often.
const most = 7

// newGraph returns a graph of at most five nodes with the given value. It may
// have fewer, because a chosen id may repeat.
func newGraph(random *rand.Rand, value int) *graph {
	g := &graph{nodes: map[string]*node{}}
	for range 2 + random.IntN(4) {
		g.add(random, value)
	}
	return g
}

// add adds a node or replaces the one with the same id. A node depends only on
// nodes with lower ids, so that there are no cycles. The highest id is a
// Deployment, all others are ConfigMaps.
//
// Replacing a node keeps the dependencies on it.
func (g *graph) add(random *rand.Rand, value int) {
	i := random.IntN(most)
	id := fmt.Sprintf("n%d", i)
	n := &node{kind: "ConfigMap", value: fmt.Sprint(value)}
	if i == most-1 {
		n.kind = "Deployment"
	}
	var before []string
	for _, other := range slices.Sorted(maps.Keys(g.nodes)) {
		if other < id {
			before = append(before, other)
		}
	}
	if len(before) > 0 && random.IntN(3) > 0 {
		n.needs = before[random.IntN(len(before))]
		n.reads = n.kind == "ConfigMap" && random.IntN(2) == 0
	}
	g.nodes[id] = n
}

// change gives one node a new value, then adds or replaces up to two nodes and
// removes up to two. At least one node remains.
func (g *graph) change(random *rand.Rand, value int) {
	ids := slices.Sorted(maps.Keys(g.nodes))
	g.nodes[ids[random.IntN(len(ids))]].value = fmt.Sprint(value)
	for range random.IntN(3) {
		g.add(random, value)
	}
	for range random.IntN(3) {
		if len(g.nodes) < 2 {
			return
		}
		g.remove(ids[random.IntN(len(ids))])
	}
}

// remove removes a node, if it exists, and the dependencies on it.
func (g *graph) remove(id string) {
	delete(g.nodes, id)
	for _, n := range g.nodes {
		if n.needs == id {
			n.needs, n.reads = "", false
		}
	}
}

// object returns the ResourceGraph that is applied. Its references to a source
// and a platform are required by the schema; the applier does not follow them.
func (g *graph) object(name string) *unstructured.Unstructured {
	nodes := []any{}
	for _, id := range slices.Sorted(maps.Keys(g.nodes)) {
		n := g.nodes[id]
		node := map[string]any{
			"id": id, "resource": n.resource(name + "-" + id),
			// The graph may have to overwrite a value that another client has
			// changed.
			"applyPolicy": map[string]any{"conflictPolicy": "Force"},
		}
		if n.needs != "" {
			node["dependencies"] = []any{n.needs}
		}
		nodes = append(nodes, node)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "ResourceGraph", "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"sourceRef":   map[string]any{"apiVersion": "pequod.io/v1alpha1", "kind": "WebService", "name": name},
			"platformRef": map[string]any{"module": "webservice"}, "renderHash": "", "graph": map[string]any{"nodes": nodes},
		},
	}}
}

// resource returns the object of a node. If it reads, it has a $from expression
// that the applier replaces by the value of another node.
func (n *node) resource(name string) map[string]any {
	resource := map[string]any{
		"apiVersion": n.apiVersion(), "kind": n.kind,
		"metadata": map[string]any{"name": name, "labels": map[string]any{"value": n.value}},
	}
	if n.kind == "Deployment" {
		labels := map[string]any{"app": name}
		resource["spec"] = map[string]any{
			"replicas": int64(1), "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "c", "image": "app:" + n.value}}},
			},
		}
		return resource
	}
	data := map[string]any{"value": n.value}
	if n.reads {
		data["read"] = map[string]any{"$from": n.needs + ".metadata.labels.value"}
	}
	resource["data"] = data
	return resource
}

// want returns the expected description of every object of the graph, by kind and
// name; describe produces the actual one.
func (g *graph) want(name string) map[string]string {
	want := map[string]string{}
	for id, n := range g.nodes {
		text := "value " + n.value
		if n.reads {
			text += ", read " + g.nodes[n.needs].value
		}
		want[n.kind+" "+name+"-"+id] = text
	}
	return want
}
