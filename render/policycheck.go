package render

import (
	"fmt"

	"cuelang.org/go/cue"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// policy evaluates a policy with the input, defaults included, and the resources
// of the nodes. A policy that can't be evaluated is reported with the rule
// [problem.RuleUnchecked]: it must not count as passed.
//
// The policy is another module with its own CUE context, so values reach it as
// data. A policy without a field input or nodes does not get that data, as a
// closed definition would refuse it. A policy that is not violated has no
// violations or an empty list.
func (r *Renderer) policy(p *Policy, rendered cue.Value, nodes []*decodedNode) ([]violation, problem.List) {
	b := r.module(p.Module)
	def := b.root.LookupPath(cue.MakePath(cue.Def("Policy")))
	d := &decoder{}
	data := map[string]any{}
	if def.Allows(inputSelector) {
		data["input"] = d.value(inputOf(rendered), "input", nil)
	}
	if def.Allows(cue.Str("nodes")) {
		resources := map[string]any{}
		for _, n := range nodes {
			if n.object != nil {
				resources[n.id] = map[string]any{"resource": n.object}
			}
		}
		data["nodes"] = resources
	}
	v := b.unify("#Policy", cuesyntax.Data(data))
	if err := v.Validate(); err != nil {
		d.addCUEError(v, "", err)
	}
	var found []violation
	if list := v.LookupPath(cue.MakePath(cue.Str("violations"))); list.Exists() {
		found = d.violations(list)
	}
	for i := range d.problems {
		q := &d.problems[i]
		q.Rule = problem.RuleUnchecked
		q.Message = fmt.Sprintf("policy gives no answer: %s", q.Message)
		if q.Position.File == "" {
			q.Position = problem.Position{File: p.Module.Ref}
		}
	}
	return found, d.problems.Sorted()
}
