package moduletest

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/yamlout"
	"github.com/pequod-io/pequod/render"
)

// outcome is the result of rendering a case: either graphs as YAML, or problems.
// graph is nil if a problem is an error. Warnings may accompany a graph.
type outcome struct {
	graph    []byte
	problems problem.List
}

// render renders the instances of a case. If one of them has an error, the outcome
// has the problems of all instances and no graph.
func (c *Case) render(r *render.Renderer, p *render.Platform) outcome {
	var out outcome
	failed := false
	var claims graph.Claims
	for in, problems := range render.Instances(instanceFile, c.instance) {
		res := render.Result{Problems: problems}
		if in != nil {
			res = c.renderOne(r, p, in)
			res.Problems = append(problems, res.Problems...)
			res.Problems = append(res.Problems, render.Clashes(in, res.Owned, &claims)...)
		}
		out.problems = append(out.problems, res.Problems...)
		if res.Problems.Failed() || res.Graph == nil {
			failed = true
			continue
		}
		// The digest changes with every edit of the module, even of a comment.
		res.Graph.Spec.PlatformRef.Digest = ""
		data, err := yamlout.Marshal(res.Graph)
		if err != nil {
			out.problems = append(out.problems, problem.Problem{Position: in.Pos(), Rule: problem.RuleGraph, Message: err.Error()})
			failed = true
			continue
		}
		if len(out.graph) > 0 {
			out.graph = append(out.graph, "---\n"...)
		}
		out.graph = append(out.graph, data...)
	}
	if !failed && len(out.graph) == 0 {
		failed = true
		out.problems = append(out.problems, problem.Problem{
			Position: problem.Position{File: instanceFile}, Rule: problem.RuleInstance, Message: "holds no instance",
		})
	}
	if failed {
		out.graph = nil
	}
	return out
}

// renderOne renders one instance, which must be of the module's kind. An instance
// without a namespace gets the namespace default.
func (c *Case) renderOne(r *render.Renderer, p *render.Platform, in *render.Instance) render.Result {
	res := render.Result{Instance: in}
	if in.Group() != p.Group || in.Kind != p.Kind || !p.Serves(in.Version()) {
		res.Problems = problem.List{{
			Position: in.Pos(), Rule: problem.RulePlatform,
			Message: fmt.Sprintf("%s %s is not of this module", in.APIVersion, in.Kind),
			Hint:    fmt.Sprintf("it has %s/%s %s", p.Group, p.Version, p.Kind),
		}}
		return res
	}
	if res.Problems = in.SetNamespaces(p, "default"); res.Problems.Failed() {
		return res
	}
	return r.Render(in, p)
}

// text returns the contents of error.txt: the problems without the positions of
// rules, one per line. It includes warnings.
func (o outcome) text() []byte {
	var b bytes.Buffer
	for _, p := range o.problems {
		p.Related = problem.Position{}
		fmt.Fprintln(&b, p)
	}
	return b.Bytes()
}

// differs reports whether a changed module has another outcome. Positions in the
// module are ignored, because the change moves them. Positions in the instances
// count.
func (o outcome) differs(other outcome) bool {
	if !bytes.Equal(o.graph, other.graph) {
		return true
	}
	return !slices.Equal(o.withoutPositions(), other.withoutPositions())
}

// withoutPositions returns the problems without positions in the module.
func (o outcome) withoutPositions() []problem.Problem {
	ps := slices.Clone(o.problems)
	for i := range ps {
		ps[i].Related = problem.Position{}
		if ps[i].Position.File != instanceFile {
			ps[i].Position = problem.Position{}
		}
	}
	return ps
}

// accepted reports whether the schema accepted all instances. Problems of
// policies and graphs come after that, so errors of the listed rules do not
// count.
func (o outcome) accepted() bool {
	return !slices.ContainsFunc(o.problems, func(p problem.Problem) bool {
		switch p.Rule {
		case problem.RulePolicy, problem.RuleGraph, problem.RuleSecret, problem.RuleModule, problem.RuleSize, problem.RuleNull:
			return false
		}
		return p.Severity == problem.Error
	})
}
