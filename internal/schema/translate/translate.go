package translate

import (
	"math"
	"math/big"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/schema/cel"
	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
)

// constant translates an expression that names no field. null is not a constant,
// because CEL's has() is false for it and it can't be compared.
func (t *translator) constant(e ast.Expr) (operand, bool) {
	if syntax.Parameters(nil).AnyFieldRefers(e) {
		return operand{}, false
	}
	s, ok := t.schema.Literal(e)
	if !ok {
		return operand{}, false
	}
	out, l := operand{shape: s}, s[0].Value
	switch {
	case l.String != nil:
		out.text = cel.String(*l.String)
	case l.Number != nil:
		out.text, ok = cel.Number(l.Number, s[0].Kind != shape.IntKind)
	default:
		out.text = string(l.JSON)
	}
	return out, ok && string(l.JSON) != "null"
}

// value translates e. It reports false if CEL can't express e, or if e could
// overflow in a way that no comparison can predict. It records the fields that e
// reads in t.needs, for [translator.reading].
func (t *translator) value(e ast.Expr) (operand, bool) {
	if c, ok := t.constant(e); ok {
		return c, true
	}
	switch x := e.(type) {
	case *ast.ParenExpr:
		return t.value(x.X)
	case *ast.BinaryExpr:
		return t.arithmetic(x)
	case *ast.Interpolation:
		return t.interpolation(x)
	case *ast.CallExpr:
		if name, ok := syntax.CalleeName(x); ok && name == "len" && len(x.Args) == 1 {
			arg, ok := t.value(x.Args[0])
			rest, nullable := shape.WithoutNull(arg.shape)
			kinds := shape.KindsOf(rest)
			sized := kinds == shape.ListKind || kinds == shape.StructKind && len(rest) == 1 && rest[0].Object.IsMap()
			if arg.isLimited() {
				return operand{}, false
			}
			if kinds == shape.StringKind && !nullable {
				// CUE's len counts bytes, CEL's size code points.
				return operand{text: "size(bytes(" + arg.text + "))", shape: sizes()}, ok
			}
			return operand{text: "size(" + arg.text + ")", shape: sizes()}, ok && !nullable && sized
		}
		return operand{}, false
	}
	path, ok := t.path(e)
	if !ok {
		return operand{}, false
	}
	a, ok := t.look(path)
	if !ok {
		return operand{}, false
	}
	t.needs = append(t.needs, a)
	return a.operand, true
}

// sizes returns the shape of lengths that an API server accepts. No request to
// the API server is large enough for a longer value.
func sizes() shape.Shape {
	return shape.Shape{{Kind: shape.IntKind, Numbers: shape.Numbers{Min: &shape.Limit{At: new(big.Rat)}, Max: &shape.Limit{At: big.NewRat(math.MaxInt32, 1)}}}}
}

// constraint returns the predicate that the field at satisfies e. A part without
// references is compared with the schema; every other part must be a conjunction,
// a disjunction, a bound, a validator or a value that the field equals. For the
// field max and the expression int & >=min it returns self.max >= self.min, since
// the schema has the type.
func (t *translator) constraint(e ast.Expr, at access) cel.Predicate {
	if x, ok := e.(*ast.UnaryExpr); ok && x.Op == token.MUL {
		// CUE rejects a lone default that the value doesn't meet.
		return t.constraint(x.X, at)
	}
	if !syntax.Parameters(nil).AnyFieldRefers(e) {
		return t.static(e, at)
	}
	switch x := e.(type) {
	case *ast.ParenExpr:
		return t.constraint(x.X, at)
	case *ast.BinaryExpr:
		switch x.Op {
		case token.AND:
			return cel.AllOf(t.constraint(x.X, at), t.constraint(x.Y, at))
		case token.OR:
			return cel.AnyOf(t.member(x.X, at), t.member(x.Y, at))
		}
	case *ast.UnaryExpr:
		switch x.Op {
		case token.LSS, token.LEQ, token.GTR, token.GEQ, token.NEQ:
			if b, ok := t.value(x.X); ok {
				return compareValues(at.operand, x.Op, b)
			}
			return cel.Unknown()
		}
	case *ast.CallExpr:
		return t.call(x, at.operand)
	}
	if b, ok := t.value(e); ok {
		return compareValues(at.operand, token.EQL, b)
	}
	return cel.Unknown()
}

// member returns the predicate for one member of a disjunction. Fields that only
// this member reads need to be present only for it. For replicas: 1 | parallel
// the field parallel may be absent if replicas is 1.
func (t *translator) member(e ast.Expr, at access) cel.Predicate {
	needs := t.needs
	t.needs = nil
	p := t.constraint(e, at)
	if t.strays(at) {
		p = cel.Unknown()
	}
	p = t.reading(at, p)
	t.needs = needs
	return p
}

// static returns the predicate for an expression that names no field.
func (t *translator) static(e ast.Expr, at access) cel.Predicate {
	s, floats, ok := t.schema.Shape(e)
	if !ok {
		return cel.Unknown()
	}
	if floats && shape.KindsOf(s) == shape.NumberKind && shape.KindsOf(at.shape) == shape.IntKind {
		return cel.Never()
	}
	p := cel.Holds(s, at.shape, at.text)
	if shape.IsNullable(at.shape) {
		// has() is false for null.
		p = cel.Implies("has("+at.text+")", cel.HoldsUnlessNull(s, at.shape, at.text))
		p.Exact = p.Exact && shape.IsNullable(s)
	}
	// Rendering converts an integer to a float only if the schema always
	// demands a float there.
	p.Exact = p.Exact && !floats
	return p
}

// call translates a validator whose argument is another field. For names:
// list.MaxItems(limit) it returns size(self.names) <= self.limit.
func (t *translator) call(x *ast.CallExpr, self operand) cel.Predicate {
	name, ok := syntax.CalleeName(x)
	if !ok || len(x.Args) != 1 {
		return cel.Unknown()
	}
	arg, ok := t.value(x.Args[0])
	if !ok {
		return cel.Unknown()
	}
	rest, nullable := shape.WithoutNull(self.shape)
	kinds := shape.KindsOf(rest)
	size := operand{text: "size(" + self.text + ")", shape: sizes()}
	switch {
	case nullable || len(rest) == 0:
	case name == "strings.MinRunes" && kinds == shape.StringKind, name == "list.MinItems" && kinds == shape.ListKind:
		return compareValues(size, token.GEQ, arg)
	case name == "strings.MaxRunes" && kinds == shape.StringKind, name == "list.MaxItems" && kinds == shape.ListKind:
		return compareValues(size, token.LEQ, arg)
	case name == "or" && shape.KindsOf(arg.shape) == shape.ListKind:
		items := shape.EnvelopeOfLists(arg.shape).Items
		if shape.KindsOf(items) == kinds && (kinds == shape.StringKind || kinds == shape.IntKind) {
			return cel.Predicate{Text: self.text + " in " + arg.text, Exact: true}
		}
	}
	return cel.Unknown()
}
