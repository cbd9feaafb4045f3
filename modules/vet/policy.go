package vet

import (
	"cuelang.org/go/cue"

	"github.com/pequod-io/pequod/internal/problem"

	"github.com/pequod-io/pequod/render"
)

// Policy reports the fields that a policy reads and that no platform's input has.
// These are warnings: a policy may be written for more platforms than the given
// ones, and guard the fields that some of them lack. Without platforms there is
// no schema to compare with, so Policy returns nothing.
//
// Unlike [Module], Policy walks only syntax. It evaluates the platforms only for
// the schemas of their inputs, and takes no guard.
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
	s := newInputWalker(inst, "#Policy", inputs)
	s.severity = problem.Warning
	s.suffix = " (of any of the platforms)"
	for _, p := range platforms {
		// The input of the policy is the input of the platforms, so their
		// conditional fields may exist there as well.
		for name := range conditionalNames(p.Module.Value().BuildInstance()) {
			s.conditional[name] = true
		}
	}
	s.check(inst)
	return s.problems
}
