package vet

import (
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
	w := &inputWalker{severity: problem.Warning, suffix: " (of any of the platforms)"}
	for _, p := range platforms {
		c := &checker{platform: p}
		c.build()
		r := c.resolver()
		w.input.shape = append(w.input.shape, r.input.shape...)
		w.values = append(w.values, r.values...)
	}
	w.walk(policy.Module.Value().BuildInstance(), "#Policy")
	return w.problems
}
