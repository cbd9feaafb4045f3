package read

import (
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/schema/syntax"
)

// ternary returns the values among which v, an index of a list literal with ifs,
// chooses.
func (r *reader) ternary(v conjunct) ([]ast.Expr, bool) {
	index, ok := syntax.Expression(v.Source()).(*ast.IndexExpr)
	if !ok {
		return nil, false
	}
	lit, ok := syntax.Expression(index.X).(*ast.ListLit)
	if !ok || !slices.ContainsFunc(lit.Elts, func(e ast.Expr) bool { _, ok := e.(*ast.Comprehension); return ok }) {
		return nil, false
	}
	var out []ast.Expr
	for _, e := range lit.Elts {
		if x, ok := e.(*ast.Comprehension); ok {
			e = x.Value
			if x.Fallback != nil {
				out = append(out, x.Fallback.Body)
			}
		}
		out = append(out, e)
	}
	return out, true
}

// choices returns the fields or items among which v chooses. It reports false if
// v chooses nothing, or from something that depends on input itself.
func (r *reader) choices(v conjunct) ([]cue.Value, bool) {
	if v.op != cue.SelectorOp && v.op != cue.IndexOp || len(v.args) != 2 {
		return nil, false
	}
	tables, key := []cue.Value{v.args[0]}, v.args[1]
	inner, chosen := r.choices(r.conjunctOf(v.args[0]))
	if chosen {
		tables = inner
	} else if v.op == cue.SelectorOp || r.dependsOnInput(v.args[0]) {
		return nil, false
	}
	var out []cue.Value
	for _, table := range tables {
		name, err := key.String()
		if at := table.LookupPath(cue.MakePath(cue.Str(name))); v.op == cue.SelectorOp && err == nil && at.Exists() {
			out = append(out, at)
			continue
		}
		if items, err := table.List(); err == nil {
			for items.Next() {
				out = append(out, items.Value())
			}
			continue
		}
		fields, err := table.Fields()
		if err != nil {
			return nil, false
		}
		for fields.Next() {
			out = append(out, fields.Value())
		}
	}
	return out, len(out) > 0
}
