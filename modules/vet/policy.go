package vet

import (
	"context"

	"github.com/pequod-io/pequod/internal/problem"

	"github.com/pequod-io/pequod/render"
)

// Policies checks the policies of platforms, and more policies that apply to all of
// them. Each policy is checked once, against all platforms that use it, in the order
// of the first use.
func Policies(ctx context.Context, more []*render.Policy, platforms []*render.Platform, o Options) (problem.List, error) {
	users := map[*render.Policy][]*render.Platform{}
	var order []*render.Policy
	add := func(policies []*render.Policy, p *render.Platform) {
		for _, policy := range policies {
			if users[policy] == nil {
				order = append(order, policy)
			}
			users[policy] = append(users[policy], p)
		}
	}
	for _, p := range platforms {
		add(p.Policies, p)
	}
	for _, p := range platforms {
		add(more, p)
	}
	var found problem.List
	for _, policy := range order {
		subject := render.Subject{Name: policy.Module.Ref, Files: policy.Module.Files}
		problems, err := render.Guard(ctx, o.Limits, subject, func() (problem.List, error) {
			return Policy(policy, users[policy]), nil
		})
		if err != nil {
			return nil, err
		}
		found = append(found, problems...)
	}
	return found, nil
}

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
