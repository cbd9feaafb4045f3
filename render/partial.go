package render

import (
	"slices"

	"cuelang.org/go/cue"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
)

// CheckPartial checks the output of #Render for an input that is only partly
// known. It leaves out problems that an unknown value may cause, and reports
// nothing about an output whose violations refuse the instance. isPlaceholder
// reports whether a string in the output only stands for one that is not known.
//
// Package modules/vet checks modules in this way before there are instances.
func CheckPartial(output cue.Value, isPlaceholder func(string) bool) problem.List {
	d := &decoder{actions: actionDefaults{instance: "instance"}, unknown: &unknowns{isPlaceholder: isPlaceholder, values: map[string]bool{}, open: map[string]bool{}}}
	g := d.graph(output)
	if slices.ContainsFunc(d.found, func(f violation) bool { return f.Severity == v1alpha1.SeverityError }) {
		return nil
	}
	// Objects without a namespace get that of the graph, in messages too.
	rg := &v1alpha1.ResourceGraph{}
	rg.Namespace = "default"
	rg.Spec.Graph = *g
	d.checkPartial(g.Nodes)
	found := d.problems
	for _, q := range graph.Check(rg) {
		found = append(found, d.located(q, q.Field))
	}
	return slices.DeleteFunc(found, d.unknown.mayCause)
}
