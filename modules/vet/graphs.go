package vet

import (
	"context"
	"slices"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/render"
)

// Graphs returns the graphs of the samples of a module that can be rendered like instances, in
// a stable order and without equal ones. Their namespace is "example", and strings that a
// sample needs are invented. What only other instances make the module render is not in them:
// kinds that depend on values that no sample has, for example. An error of a sample is no error
// of Graphs; the error is about an evaluation that was stopped.
func Graphs(ctx context.Context, p *render.Platform, limits render.Limits) ([]*v1alpha1.ResourceGraph, error) {
	c := &checker{platform: p, reported: map[problem.Problem]bool{}, guard: func(run func()) error {
		_, err := render.Guard(ctx, limits, p.Subject(), func() (struct{}, error) { run(); return struct{}{}, nil })
		return err
	}}
	var s *inputWalker
	c.guarded(func() { s = c.walkRender() })
	var all []*v1alpha1.ResourceGraph
	c.eachConcrete(c.renderSamples(s), true, func(result render.Result) {
		if result.Graph != nil && !slices.ContainsFunc(all, func(g *v1alpha1.ResourceGraph) bool { return g.Spec.RenderHash == result.Graph.Spec.RenderHash }) {
			all = append(all, result.Graph)
		}
	})
	return all, c.err
}
