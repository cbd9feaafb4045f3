package read

import (
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
)

// kindsAmong returns the kinds that values of e may have, as far as the source
// tells, and TopKind if it doesn't. The field may be declared further, which
// leaves fewer kinds. CUE's own answer would be the kind of the default, or an
// error.
func (r *reader) kindsAmong(e ast.Expr) shape.Kind { return r.kindsIn(e, nil) }

// kindsIn is kindsAmong with the declarations that were followed, against
// endless loops.
func (r *reader) kindsIn(e ast.Expr, followed []ast.Node) shape.Kind {
	e = syntax.Expression(e)
	if e == nil {
		return shape.TopKind
	}
	switch x := e.(type) {
	case *ast.BinaryExpr:
		switch x.Op {
		case token.OR:
			return r.kindsIn(x.X, followed) | r.kindsIn(x.Y, followed)
		case token.AND:
			return r.kindsIn(x.X, followed) & r.kindsIn(x.Y, followed)
		}
	case *ast.UnaryExpr:
		if x.Op == token.MUL {
			return r.kindsIn(x.X, followed)
		}
	case *ast.CallExpr:
		if syntax.IsOr(x) {
			return r.itemKinds(x.Args[0], followed)
		}
	case *ast.Ident:
		if r.parameters.AnyFieldRefers(x) && !slices.Contains(followed, x.Node) {
			return r.kindsIn(syntax.Expression(x.Node), append(followed, x.Node))
		}
	}
	if r.parameters.AnyFieldRefers(e) {
		return shape.TopKind
	}
	if v, ok := r.build(e); ok && kindsOfValue(v) != shape.BottomKind {
		return kindsOfValue(v)
	}
	return shape.TopKind
}

// itemKinds returns the kinds of the items of a field that is declared as [...T].
// For names: [...string] the call or(names) yields a string.
func (r *reader) itemKinds(e ast.Expr, followed []ast.Node) shape.Kind {
	id, ok := e.(*ast.Ident)
	if !ok {
		return shape.TopKind
	}
	list, ok := syntax.Expression(id.Node).(*ast.ListLit)
	if !ok || len(list.Elts) != 1 {
		return shape.TopKind
	}
	rest, ok := list.Elts[0].(*ast.Ellipsis)
	if !ok || rest.Type == nil {
		return shape.TopKind
	}
	return r.kindsIn(rest.Type, followed)
}

// operandKind returns the kinds that a, the operand of an operation, may have. It
// is [shape.TopKind] if that is unknown.
func (r *reader) operandKind(in context, a cue.Value) shape.Kind {
	if !r.dependsOnInput(a) {
		if k := kindsFrom(a.Kind()); k != shape.BottomKind {
			return k
		}
		return shape.TopKind
	}
	// Only a plain reference to a plain field has the kind that it will have
	// with data. Operations take the defaults of their operands.
	if r.conjunctOf(a).op != cue.SelectorOp {
		return shape.TopKind
	}
	parts, dropped := r.conjuncts(in, cue.Dereference(a))
	if dropped || slices.ContainsFunc(parts, func(p conjunct) bool { return r.dependsOnInput(p) }) {
		return shape.TopKind
	}
	if kinds := kindsOfValue(a); kinds != shape.BottomKind {
		return kinds
	}
	return shape.TopKind
}

// computed reads the result of an operation. Only its kind can be known if it
// depends on input. For port + 1 with an integer port it returns all integers and
// a note. A lenient context admits anything.
func (r *reader) computed(v cue.Value, op cue.Op, in context) shape.Shape {
	if !r.dependsOnInput(v) {
		if s, ok := literalShape(v); ok {
			return s
		}
	}
	in.note(v.Pos(), "what is computed from other fields")
	if in.lenient {
		return shape.Any()
	}
	switch op {
	case cue.InterpolationOp:
		return shape.OfKinds(shape.StringKind | shape.BytesKind)
	case cue.EqualOp, cue.NotEqualOp, cue.LessThanOp, cue.LessThanEqualOp, cue.GreaterThanOp, cue.GreaterThanEqualOp,
		cue.RegexMatchOp, cue.NotRegexMatchOp, cue.BooleanAndOp, cue.BooleanOrOp, cue.NotOp:
		return shape.OfKinds(shape.BoolKind)
	case cue.AddOp, cue.SubtractOp, cue.MultiplyOp:
		kinds := shape.BottomKind
		for _, a := range r.conjunctOf(v).args {
			kinds |= r.operandKind(in, a)
		}
		switch {
		case kinds == shape.IntKind, kinds&^shape.NumberKind == 0:
			return shape.OfKinds(kinds)
		case kinds == shape.StringKind && op == cue.AddOp:
			return shape.OfKinds(kinds)
		}
	}
	return shape.Any()
}
