package render

import (
	"fmt"

	"cuelang.org/go/cue"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// Policy is a module whose #Policy sees every input and every rendered node,
// and of which only violations are read.
type Policy struct {
	Module *Module
}

// NewPolicy checks that a module is a policy. Its errors are [Problems].
func NewPolicy(m *Module) (*Policy, error) {
	b := m.take()
	defer m.spare.Store(b)
	if !b.has("Policy") {
		return nil, problem.List{m.missing("#Policy", b.definitions())}
	}
	return &Policy{Module: m}, nil
}

// finding is a violation and the line that made it.
type finding struct {
	v1alpha1.Violation
	pos problem.Position
}

var violationNames = []string{"path", "node", "message", "severity"}

func (d *decoder) violation(v cue.Value, path string) (finding, bool) {
	f := finding{pos: cuesyntax.Position(v.Pos())}
	n := len(d.problems)
	d.decodeInto(v, path, violationNames, &f.Violation)
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

// policy evaluates one policy over the input, with its defaults, and the nodes.
// An evaluation that fails is no answer, never a pass.
func (r *Renderer) policy(p *Policy, rendered cue.Value, of *decoder) ([]finding, problem.List) {
	b := r.module(p.Module)
	def := b.root.LookupPath(cue.MakePath(cue.Def("Policy")))
	d := &decoder{}
	data := map[string]any{}
	if def.Allows(cue.Str("input")) {
		data["input"] = d.any(rendered.LookupPath(cue.MakePath(inputSel)), "input", nil)
	}
	if def.Allows(cue.Str("nodes")) {
		nodes := map[string]any{}
		for _, n := range of.nodes {
			if n.object != nil {
				nodes[n.id] = map[string]any{"resource": n.object}
			}
		}
		data["nodes"] = nodes
	}
	v := b.unify("#Policy", cuesyntax.Data(data))
	if err := v.Validate(); err != nil {
		d.wrong(v, "", err)
	}
	var found []finding
	if list := v.LookupPath(cue.MakePath(cue.Str("violations"))); list.Exists() {
		d.list(list, "violations", func(path string, v cue.Value) {
			if f, ok := d.violation(v, path); ok {
				found = append(found, f)
			}
		})
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

// problem places a violation at the field that its path names: in the
// instance, or in the module for a node's.
func (f finding) problem(in *Instance, d *decoder) problem.Problem {
	p := problem.Problem{Path: f.Path, Message: f.Message, Rule: problem.RulePolicy, Related: f.pos}
	switch f.Severity {
	case v1alpha1.SeverityWarning:
		p.Severity = problem.Warning
	case v1alpha1.SeverityInfo:
		p.Severity = problem.Note
	case v1alpha1.SeverityError:
	}
	if f.Node != "" {
		p.Path = graph.NodePath(f.Node, f.Path)
		p.Position = in.Pos()
		return p
	}
	p.Position = in.PosOf(f.Path)
	return p
}
