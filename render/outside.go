package render

import (
	"slices"
	"strconv"

	"github.com/pequod-io/pequod/api/action"
	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
	"github.com/pequod-io/pequod/render/ownkinds"
)

// report adds a problem of a node, whose path begins at the node, at its line.
func (d *decoder) report(id string, p problem.Problem) {
	p.Position = d.positionOf(id, p.Path)
	p.Path = graph.NodePath(id, d.authored(id, p.Path))
	d.problems = append(d.problems, p)
}

// checkNodes calls [Options.Check] for every node, and checks nodes with kinds of Pequod. Violations
// of the module explain what is wrong with them better, so with these it checks only what the caller
// asks for. The decoded nodes have the same order as the nodes of the graph.
func (r *Renderer) checkNodes(rg *v1alpha1.ResourceGraph, d *decoder) {
	check := r.checkNode
	if slices.ContainsFunc(d.found, func(f violation) bool { return f.Severity == v1alpha1.SeverityError }) {
		check = r.Check
	}
	if check == nil {
		return
	}
	for i, n := range rg.Spec.Graph.Nodes {
		object := d.nodes[i].object
		for _, p := range check(n, object) {
			d.report(n.ID, p)
		}
	}
}

// checkNode returns the problems of one node, whose paths begin at the node. What pequod-actions says
// about an Action explains the problems of its schema, and is told instead of them.
func (r *Renderer) checkNode(n v1alpha1.Node, object map[string]any) problem.List {
	check := r.Check
	if check == nil {
		check = ownkinds.Check
	}
	if action.Spec(object) != nil {
		if found := ownkinds.Outside(object); len(found) > 0 {
			return found
		}
	}
	if found := check(n, object); len(found) > 0 {
		return found
	}
	return ownkinds.Outside(object)
}

// checkPartial is checkNodes for an output that is only partly known. What isn't known is accepted
// like a late reference.
func (d *decoder) checkPartial(nodes []v1alpha1.Node) {
	for i, n := range nodes {
		object, ok := d.known(n.ID, "resource", d.nodes[i].object).(map[string]any)
		if !ok {
			continue
		}
		// Rules are compared with the state, so one that may be there is there.
		if spec, ok := object["spec"].(map[string]any); ok && object["kind"] == "Monitor" && spec["state"] == nil && d.unknown.open[d.keyOf(n.ID, "resource.spec")] {
			spec["state"] = unknownValue()
		}
		for _, p := range (&Renderer{}).checkNode(n, object) {
			d.report(n.ID, p)
		}
	}
}

// known returns a value of a node with late references in place of what isn't known. field is the
// path of the value in the node.
func (d *decoder) known(id, field string, v any) any {
	if d.unknown.values[d.keyOf(id, field)] {
		return unknownValue()
	}
	switch v := v.(type) {
	case map[string]any:
		all := map[string]any{}
		for name, value := range v {
			all[name] = d.known(id, fieldpath.Join(field, name), value)
		}
		return all
	case []any:
		all := make([]any, len(v))
		for i, value := range v {
			all[i] = d.known(id, field+"["+strconv.Itoa(i)+"]", value)
		}
		return all
	}
	return v
}

// keyOf returns the key of a field of a node in the maps of [unknowns].
func (d *decoder) keyOf(id, field string) string {
	return pathKey(graph.NodePath(id, d.authored(id, field)))
}

// unknownValue returns a late reference.
func unknownValue() any { return map[string]any{reference.FromKey: "unknown"} }
