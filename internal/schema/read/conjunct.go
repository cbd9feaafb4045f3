package read

import (
	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
)

// isList reports whether v is a list literal.
func isList(v conjunct) bool {
	_, ok := syntax.Expression(v.Source()).(*ast.ListLit)
	return ok && v.op == cue.NoOp
}

// conjunct is a value with its expression. Taking an expression apart is
// expensive, so the reader keeps the conjuncts of a value. op and args are the
// results of cue.Value.Expr: for a & b they are cue.AndOp and the values of a and
// b, and for a literal cue.NoOp.
type conjunct struct {
	cue.Value
	op   cue.Op
	args []cue.Value
}

// conjunctOf takes v apart, once per reader. cue.Value is comparable, and the
// same value always has the same expression.
func (r *reader) conjunctOf(v cue.Value) conjunct {
	c, ok := r.taken[v]
	if !ok {
		op, args := v.Expr()
		c = conjunct{Value: v, op: op, args: args}
		if r.taken == nil {
			r.taken = map[cue.Value]conjunct{}
		}
		r.taken[v] = c
	}
	return c
}

// conjuncts takes v apart at its &. Conjuncts that hold only for some input are
// left out; dropped reports whether there were any. For int & >=1 & <=9 it
// returns three parts. A reference or a disjunction is one part.
func (r *reader) conjuncts(in context, v cue.Value) (parts []conjunct, dropped bool) {
	if in.isGuarded(v.Source()) {
		return nil, true
	}
	whole := r.conjunctOf(v)
	switch {
	case whole.op == cue.AndOp:
	case kindsOfValue(v) == shape.BottomKind && r.dependsOnInput(v):
		// For what fails for want of data, CUE keeps only the error.
		return []conjunct{whole}, false
	case whole.op == cue.NoOp && len(whole.args) == 1 && isDisjunction(v) && r.dependsOnInput(whole.args[0]):
		// CUE dropped members that others cover, but only until there is data.
		return []conjunct{whole}, false
	case whole.op == cue.NoOp && coveredList(v, len(whole.args)).Exists():
		return []conjunct{whole}, false
	case whole.op == cue.NoOp && len(whole.args) == 1 && whole.args[0] != v && syntax.LiteralMembers(syntax.Expression(v.Source())) < 2:
		// This disjunction has one member left beside its default.
	default:
		return []conjunct{whole}, false
	}
	for _, a := range whole.args {
		p, d := r.conjuncts(in, a)
		parts = append(parts, p...)
		dropped = dropped || d
	}
	return parts, dropped
}

// dependsOnInput reports whether the source of v refers to fields of the
// instance; see [syntax.Parameters.DependsOnInput].
func (r *reader) dependsOnInput(v interface{ Source() ast.Node }) bool {
	return r.parameters.DependsOnInput(syntax.Expression(v.Source()))
}

// isDisjunction reports whether the source of v is a disjunction. A reference to
// a disjunction is not one.
func isDisjunction(v cue.Value) bool {
	x, ok := syntax.Expression(v.Source()).(*ast.BinaryExpr)
	return ok && x.Op == token.OR
}

// isStruct reports whether v has fields, as opposed to a validator of structs.
// A struct with ifs that wait for input has no kind yet, so its source decides.
func (v conjunct) isStruct() bool {
	switch kindsOfValue(v) {
	case shape.StructKind:
	case shape.BottomKind:
		_, ok := syntax.Expression(v.Source()).(*ast.StructLit)
		return ok
	default:
		return false
	}
	return v.op != cue.CallOp || callee(v.args) == "close"
}

// coveredList returns the default of v if it is a list that CUE doesn't count
// among the members of v because another member covers it. The structs in the
// default have values that those in the other member may wait for, so both must
// be read. Members is the number of members that CUE found. The result doesn't
// exist if nothing was left out.
func coveredList(v cue.Value, members int) cue.Value {
	if !isDisjunction(v) || len(syntax.MembersOf(syntax.Expression(v.Source()))) <= members {
		return cue.Value{}
	}
	d, ok := v.Default()
	items, err := d.List()
	if !ok || err != nil {
		return cue.Value{}
	}
	for items.Next() {
		if kindsOfValue(items.Value())&(shape.StructKind|shape.ListKind) != 0 {
			return d
		}
	}
	return cue.Value{}
}

// expressions returns the sources of v and of its conjuncts. They tell whether a
// value depends on other fields; the value alone doesn't show it.
func (r *reader) expressions(v cue.Value) []ast.Expr {
	var out []ast.Expr
	if e := syntax.Expression(v.Source()); e != nil {
		out = append(out, e)
	}
	if c := r.conjunctOf(v); c.op == cue.AndOp {
		for _, a := range c.args {
			out = append(out, r.expressions(a)...)
		}
	}
	return out
}

// mayChange reports whether a conjunct that fails without data may succeed with
// data. Scalars that don't depend on input don't change. For "a" & "b" it is
// false for both, so the conjunction admits nothing.
func (r *reader) mayChange(p conjunct) bool {
	e := syntax.Expression(p.Source())
	return e == nil || p.isStruct() || isList(p) || r.parameters.DependsOnInput(e) || kindsOfValue(p)&(shape.ListKind|shape.StructKind) != 0
}

// onlyGuarded reports whether a field is present only because the guard of an if
// holds without any input. For {x: *false | bool, if !x {y: 1}} CUE's evaluation
// has the field y, but an instance with x: true has none.
func (r *reader) onlyGuarded(in context, it *cue.Iterator, c *syntax.Guarded) bool {
	if !c.Touches(it.Selector().Unquoted()) {
		return false
	}
	parts, dropped := r.conjuncts(in, it.Value())
	return len(parts) == 0 && dropped
}
