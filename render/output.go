package render

import (
	"cuelang.org/go/cue"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// graph reads nodes, outputs and violations.
func (d *decoder) graph(out cue.Value) *v1alpha1.Graph {
	d.output = out
	g := &v1alpha1.Graph{Nodes: []v1alpha1.Node{}}
	if !out.Exists() {
		d.problems = append(d.problems, problem.Problem{Path: "#Render.output", Rule: problem.RuleModule, Message: "missing"})
		return g
	}
	var sawNodes bool
	// metadata is what modules of the original operator carry, and is not read.
	d.fields(out, "", []string{"nodes", "outputs", "violations", "metadata"}, func(name string, v cue.Value) {
		switch name {
		case "nodes":
			sawNodes = true
			g.Nodes = d.nodeList(v)
		case "outputs":
			d.fields(v, "outputs", nil, func(name string, v cue.Value) {
				path := fieldpath.Join("outputs", name)
				value, err := raw(d.any(v, path, nil))
				if err != nil {
					d.problem(v, path, problem.RuleGraph, "", "%v", err)
					return
				}
				if g.Outputs == nil {
					g.Outputs = newRaws()
				}
				g.Outputs[name] = *value
			})
		case "violations":
			d.list(v, "violations", func(path string, v cue.Value) {
				if f, ok := d.violation(v, path); ok {
					d.violations = append(d.violations, f)
				}
			})
		}
	})
	if !sawNodes && len(d.problems) == 0 {
		d.problem(out, "nodes", problem.RuleModule, "", "missing in #Render.output")
	}
	return g
}

// nodeList reads nodes in either of their forms: a map by id, or a list.
func (d *decoder) nodeList(v cue.Value) []v1alpha1.Node {
	nodes := []v1alpha1.Node{}
	v, _ = v.Default()
	if v.IncompleteKind() == cue.ListKind {
		d.list(v, "nodes", func(path string, v cue.Value) { nodes = append(nodes, d.node(v, path, "")) })
		return nodes
	}
	d.fields(v, "nodes", nil, func(name string, v cue.Value) {
		nodes = append(nodes, d.node(v, fieldpath.Join("nodes", name), name))
	})
	return nodes
}
