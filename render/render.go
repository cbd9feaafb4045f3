package render

import (
	"slices"
	"strings"

	"github.com/pequod-io/pequod/internal/problem"
)

// Render checks an instance and renders it. The instance must have its namespaces
// (see [Instance.SetNamespaces]).
//
// A problem of severity Error in one stage ends the rendering, and the result has
// no graph. An instance without a name is only checked.
func (r *Renderer) Render(in *Instance, p *Platform) Result {
	res := Result{Instance: in, Platform: p}
	b := r.module(p.Module)
	v, problems := b.evaluate(b.dataOf(in, p), p, in.Version())
	res.Problems = append(res.Problems, withoutName(in, problems)...)
	if !res.Problems.Failed() && in.Name != "" {
		rendered, problems := r.graph(v, in, p)
		res.Problems = append(append(res.Problems, problems...), b.checkStatus(v)...)
		if !res.Problems.Failed() {
			res.Graph, res.Owned, res.Positions = rendered.Graph, rendered.Owned, rendered.Positions
		}
	}
	// A problem without a position is shown at the instance. One in a file of the
	// module also names the instance that was rendered.
	for i := range res.Problems {
		q := &res.Problems[i]
		// No value can satisfy a regular expression that is invalid.
		if strings.HasPrefix(q.Message, "invalid regexp") && q.Related.File != "" {
			q.Position, q.Related, q.Rule = q.Related, problem.Position{}, problem.RuleModule
		}
		q.Instance = in.String()
		if q.Position.File == "" {
			q.Position = in.Pos()
		} else if q.Position.File != in.File {
			q.InstanceAt = in.Pos()
		}
	}
	res.Problems = res.Problems.Sorted()
	return res
}

// withoutName removes problems of the name of an instance that has none.
// Reading the instance reported that already.
func withoutName(in *Instance, ps problem.List) problem.List {
	return slices.DeleteFunc(ps, func(p problem.Problem) bool { return in.Name == "" && p.Path == "metadata.name" })
}
