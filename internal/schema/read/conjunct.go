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
	case kindsOfValue(v) == shape.BottomKind && syntax.DependsOnInput(syntax.Expression(v.Source())):
		// For what fails for want of data, CUE keeps only the error.
		return []conjunct{whole}, false
	case whole.op == cue.NoOp && len(whole.args) == 1 && isDisjunction(v) && syntax.DependsOnInput(syntax.Expression(whole.args[0].Source())):
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
