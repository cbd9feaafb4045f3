package render

import (
	"encoding/json"

	"cuelang.org/go/cue"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// graph reads #Render.output: nodes, outputs, violations and adopt. The graph has no
// violations; they are in d.found. What may be adopted is in d.adopted.
//
// The output has this form:
//
//	nodes: web: {resource: {...}, dependencies: ["db"]}
//	outputs: url: "$from": "web.status.url"
//	violations: [{message: "...", path: "spec.port"}]
func (d *decoder) graph(out cue.Value) *v1alpha1.Graph {
	d.output = out
	g := &v1alpha1.Graph{Nodes: []v1alpha1.Node{}}
	if !out.Exists() {
		d.problems = append(d.problems, problem.Problem{Path: "#Render.output", Rule: problem.RuleModule, Message: "missing"})
		return g
	}
	hasNodes := false
	// Modules of the original operator have metadata. It is not read.
	d.fields(out, "", []string{"nodes", "outputs", "violations", "adopt", "metadata"}, func(name string, v cue.Value) {
		switch name {
		case "nodes":
			hasNodes = true
			g.Nodes = d.nodeList(v)
		case "outputs":
			g.Outputs = d.outputs(v)
		case "violations":
			d.found = append(d.found, d.violations(v)...)
		case "adopt":
			d.adopted = d.adopt(v)
		}
	})
	if !hasNodes && len(d.problems) == 0 {
		d.problem(out, "nodes", problem.RuleModule, "", "missing in #Render.output")
	}
	return g
}

// nodeList reads the nodes, which are a map by id, or a list in modules of the
// original operator. It never returns nil, because the graph's JSON has a list in
// any case.
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

// outputs reads the outputs of the graph. It returns nil if there are none.
func (d *decoder) outputs(v cue.Value) map[string]runtime.RawExtension {
	var outputs map[string]runtime.RawExtension
	d.fields(v, "outputs", nil, func(name string, v cue.Value) {
		path := fieldpath.Join("outputs", name)
		value, err := rawJSON(d.value(v, path, nil))
		if err != nil {
			d.problem(v, path, problem.RuleGraph, "", "%v", err)
			return
		}
		if outputs == nil {
			outputs = map[string]runtime.RawExtension{}
		}
		outputs[name] = *value
	})
	return outputs
}

// violations reads a list of violations and skips invalid ones, which are
// problems.
func (d *decoder) violations(v cue.Value) []violation {
	var all []violation
	d.list(v, "violations", func(path string, v cue.Value) {
		if f, ok := d.violation(v, path); ok {
			all = append(all, f)
		}
	})
	return all
}

// violation reads one violation. It returns false if it reported a problem. A
// violation without a severity is an error.
func (d *decoder) violation(v cue.Value, path string) (violation, bool) {
	f := violation{pos: cuesyntax.Position(v.Pos())}
	n := len(d.problems)
	d.decodeInto(v, path, violationFields, &f.Violation)
	if len(d.problems) > n {
		return f, false
	}
	if f.Message == "" {
		d.problem(v, fieldpath.Join(path, "message"), problem.RuleModule, "", "missing")
	}
	switch f.Severity {
	case "":
		f.Severity = v1alpha1.SeverityError
	case v1alpha1.SeverityError, v1alpha1.SeverityWarning, v1alpha1.SeverityInfo:
	default:
		d.problem(v, fieldpath.Join(path, "severity"), problem.RuleModule, "", "%q is not one of Error, Warning, Info", f.Severity)
	}
	return f, len(d.problems) == n
}

// rawJSON marshals a value for an API type.
func rawJSON(v any) (*runtime.RawExtension, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return &runtime.RawExtension{Raw: data}, nil
}
