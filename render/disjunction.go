package render

import (
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/api/nearest"
)

// disjuncts gives the branches of a disjunction, its default among them, and a
// single value for anything else.
func disjuncts(v cue.Value) []cue.Value {
	op, args := v.Expr()
	switch {
	case op == cue.OrOp:
		var all []cue.Value
		for _, a := range args {
			all = append(all, disjuncts(a)...)
		}
		return all
	case op == cue.NoOp && len(args) == 1:
		// Expr gives a marked default apart from the branches.
		inner, ok := args[0], false
		if op, _ := inner.Expr(); op == cue.OrOp {
			ok = true
		}
		if ok {
			return disjuncts(inner)
		}
		if def, has := v.Default(); has && def.Validate(cue.Concrete(true)) == nil && inner.Subsume(def) != nil {
			return append([]cue.Value{def}, inner)
		}
		return []cue.Value{inner}
	}
	return []cue.Value{v}
}

// conjuncts gives the parts of a conjunction.
func conjuncts(v cue.Value) []cue.Value {
	op, args := v.Expr()
	switch {
	case op == cue.AndOp:
		return args
	case op == cue.NoOp && len(args) == 1:
		if op, _ := args[0].Expr(); op == cue.AndOp {
			return conjuncts(args[0])
		}
	}
	return nil
}

// disjunction reports a value that no branch takes: against the branch that was
// meant where that can be told, else against all of them in one line.
func (d *diagnosis) disjunction(schema cue.Value, branches []cue.Value, e ast.Expr, path string) {
	given := kindOf(e)
	if values := literals(branches); len(values) == len(branches) {
		d.oneOf(schema, values, e, path)
		return
	}
	var fit []cue.Value
	var kinds cue.Kind
	for _, b := range branches {
		kinds |= b.IncompleteKind()
		if b.IncompleteKind()&given != 0 && !equalsLiteral(b) {
			fit = append(fit, b)
		}
	}
	if kinds&given == 0 {
		d.mistyped(kinds, schema, e, path)
		return
	}
	if s, ok := e.(*ast.StructLit); ok && len(fit) > 1 {
		if name, values := discriminator(fit, s); name != "" {
			if f := field(s, name); f != nil {
				d.oneOf(schema, values, f.Value, joinPath(path, name))
			} else if likely, certain := likeliest(fit, s); certain {
				d.branch(likely, e, path)
			} else {
				d.add(joinPath(path, name), RuleRequired, schema.Pos(), "missing", "one of "+strings.Join(values, ", "))
			}
			return
		}
		likely, _ := likeliest(fit, s)
		fit = []cue.Value{likely}
	}
	if len(fit) == 1 {
		before := len(d.problems)
		d.branch(fit[0], e, path)
		if len(d.problems) > before {
			return
		}
	}
	parts := make([]string, len(branches))
	for i, b := range branches {
		parts[i] = fmt.Sprint(b)
	}
	d.add(path, RuleConstraint, schema.Pos(), fmt.Sprintf("%s matches none of: %s", show(e), strings.Join(parts, ", ")), "")
}

// branch reports a value against one branch of a disjunction.
func (d *diagnosis) branch(b cue.Value, e ast.Expr, path string) {
	b = closed(b)
	d.value(d.alone(b, path), b, e, path)
}

// oneOf reports a value that an enumeration lacks.
func (d *diagnosis) oneOf(schema cue.Value, values []string, e ast.Expr, path string) {
	hint := ""
	if s, ok := text(e); ok {
		if near := nearest.Name(fmt.Sprintf("%q", s), values); near != "" && len(values) > 1 {
			hint = "did you mean " + near + "?"
		}
	}
	message := fmt.Sprintf("%s is not one of %s", show(e), strings.Join(values, ", "))
	if len(values) == 1 {
		message = fmt.Sprintf("%s is not %s", show(e), values[0])
	}
	d.add(path, RuleEnum, schema.Pos(), message, hint)
}

func equalsLiteral(v cue.Value) bool {
	return v.IsConcrete() && v.IncompleteKind()&(cue.StructKind|cue.ListKind) == 0
}

// literals gives the values of those branches that are plain values, each once.
func literals(branches []cue.Value) []string {
	var values []string
	for _, b := range branches {
		if equalsLiteral(b) {
			values = append(values, fmt.Sprint(b))
		}
	}
	return values
}

// discriminator finds a field that has a literal in every branch while the data
// has none of those literals, or lacks the field; it gives the literals that
// would have done.
func discriminator(branches []cue.Value, s *ast.StructLit) (string, []string) {
	for _, name := range fieldNames(branches[0]) {
		var values []string
		for _, b := range branches {
			alternatives := disjuncts(b.LookupPath(cue.MakePath(cue.Str(name))))
			lits := literals(alternatives)
			if len(lits) < len(alternatives) {
				values = nil
				break
			}
			for _, l := range lits {
				if !slices.Contains(values, l) {
					values = append(values, l)
				}
			}
		}
		if f := field(s, name); len(values) > 1 && (f == nil || !slices.Contains(values, show(f.Value))) {
			return name, values
		}
	}
	return "", nil
}

// likeliest is the branch with the most literals in common with the data, then
// the most field names, then the fewest fields that the data lacks; certain says
// that no other branch comes as near.
func likeliest(branches []cue.Value, s *ast.StructLit) (best cue.Value, certain bool) {
	scores := make([]int, len(branches))
	for i, b := range branches {
		for _, decl := range s.Elts {
			name := fieldName(decl)
			f := b.LookupPath(cue.MakePath(cue.Str(name).Optional()))
			switch {
			case !f.Exists():
			case !equalsLiteral(f):
				scores[i] += 10
			case fmt.Sprint(f) == show(decl.(*ast.Field).Value):
				scores[i] += 1000
			default:
				scores[i] -= 1000
			}
		}
		scores[i] -= len(wanted(b))
	}
	most := slices.Max(scores)
	at := slices.Index(scores, most)
	return branches[at], most > 0 && !slices.Contains(scores[at+1:], most)
}

// closed restores the closedness that a branch loses when Expr takes it out of
// its definition.
func closed(branch cue.Value) cue.Value {
	if branch.IncompleteKind() != cue.StructKind {
		return branch
	}
	def := cue.MakePath(cue.Def("X"))
	return branch.Context().CompileString("#X: _").FillPath(def, branch).LookupPath(def)
}
