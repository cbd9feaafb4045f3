package vet

import (
	"cuelang.org/go/cue"

	"github.com/pequod-io/pequod/internal/problem"

	"github.com/pequod-io/pequod/render"
)

// Policy says what a policy reads that no platform's input has. A policy is for
// many platforms, and what some of them don't have is behind a guard; so it is a
// warning.
func Policy(policy *render.Policy, platforms []*render.Platform) problem.List {
	if len(platforms) == 0 {
		return nil
	}
	var inputs []cue.Value
	for _, p := range platforms {
		c := &checker{platform: p}
		c.build()
		inputs = append(inputs, c.input())
	}
	inst := policy.Module.Value().BuildInstance()
	s := newSelectors(inst, "#Policy", inputs)
	s.level = problem.Warning
	s.what = " (of any of the platforms)"
	for _, p := range platforms {
		for name := range madeNames(p.Module.Value().BuildInstance()) {
			s.made[name] = true
		}
	}
	s.check(inst)
	return s.problems
}
