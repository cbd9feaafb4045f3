package objectdiff

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// FromGraph returns the objects of the nodes of a graph, and the graph itself
// without nodes. It leaves out fields that do not change the cluster: the render
// hash, the module that rendered the graph, and policy warnings. The graph must
// be valid, see graph.Check. The file is for messages.
//
// Nodes with an external reference have no object that the graph writes. They
// stay part of the graph, so that a changed reference is a change of the
// ResourceGraph.
func FromGraph(rg *v1alpha1.ResourceGraph, file string) ([]Object, error) {
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(rg)
	if err != nil {
		return nil, err
	}
	raw["apiVersion"], raw["kind"] = v1alpha1.GroupVersion.String(), "ResourceGraph"
	self, err := keyOf(raw)
	if err != nil {
		return nil, err
	}
	spec, _ := raw["spec"].(map[string]any)
	for _, field := range []string{"renderHash", "platformRef", "sourceRef"} {
		delete(spec, field)
	}
	delete(raw, "status")
	removeOrigin(raw)
	inner, _ := spec["graph"].(map[string]any)
	delete(inner, "violations")
	nodes, _ := inner["nodes"].([]any)
	delete(inner, "nodes")

	var source Key
	if ref := rg.Spec.SourceRef; ref.Kind != "" {
		gk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
		source = Key{Group: gk.Group, Kind: gk.Kind, Namespace: ref.Namespace, Name: ref.Name}
	}
	// nodes and read.Nodes have the same order: nodes has the fields as they are
	// written, read.Nodes their meaning.
	read := graph.ReadObjects(rg)
	var objects []Object
	var external []any
	for i := range read.Nodes {
		n := &read.Nodes[i]
		node, _ := nodes[i].(map[string]any)
		if n.ExternalRef != nil { // not written by the graph: part of its settings
			external = append(external, nodeSettings(node))
			continue
		}
		resource, _ := node["resource"].(map[string]any)
		key, err := keyOf(resource)
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", n.ID, err)
		}
		// The graph's namespace is the default for objects that set none.
		key.Namespace, key.Cluster = n.Object.Namespace, graph.Cluster(rg)
		o := Object{Key: key, File: file, graph: self.name(), body: normalize(key, resource, true), node: nodeSettings(node), source: source}
		o.policy.orphaned = n.Orphaned(rg.Spec.DeletionPolicy)
		o.policy.kept = graph.KeepReason(resource)
		o.policy.recreated = n.ApplyPolicy != nil && n.ApplyPolicy.Recreate == v1alpha1.RecreateOnImmutable
		delete(o.node, "resource")
		o.node["graph"] = o.graph
		objects = append(objects, o)
	}
	if external != nil {
		inner["nodes"] = external
	}
	// Nothing is left of a graph that has only nodes.
	if len(inner) == 0 {
		delete(spec, "graph")
	}
	if len(spec) == 0 {
		delete(raw, "spec")
	}
	return append(objects, Object{Key: self, File: file, body: normalize(self, raw, true)}), nil
}

// CompareGraphs returns the difference of two renderings of one instance. It leaves out the
// platform reference, whose digest changes with every edit of a module but has no
// effect in the cluster. Most graphs are equal, which saves the comparison of their objects.
func CompareGraphs(was, is *v1alpha1.ResourceGraph) (Diff, error) {
	same := *is
	same.Spec.PlatformRef = was.Spec.PlatformRef
	if reflect.DeepEqual(was, &same) {
		return Diff{}, nil
	}
	x, oldErr := FromGraph(was, "")
	y, newErr := FromGraph(is, "")
	if err := errors.Join(oldErr, newErr); err != nil {
		return Diff{}, err
	}
	return Compare(x, y), nil
}

// removeOrigin removes the labels and annotations that record the origin of a graph.
func removeOrigin(graph map[string]any) {
	metadata, _ := graph["metadata"].(map[string]any)
	for _, field := range []string{"labels", "annotations"} {
		m, _ := metadata[field].(map[string]any)
		delete(m, v1alpha1.LabelTransform)
		delete(m, v1alpha1.LabelCueModule)
		if len(m) == 0 {
			delete(metadata, field)
		}
	}
}

// nodeSettings returns a copy of a node. Its dependencies are sorted, because their
// order has no meaning.
func nodeSettings(node map[string]any) map[string]any {
	copied := maps.Clone(node)
	if needs, ok := copied["dependencies"].([]any); ok {
		needs = slices.Clone(needs)
		slices.SortFunc(needs, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		copied["dependencies"] = needs
	}
	return copied
}
