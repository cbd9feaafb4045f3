package vet

import (
	"slices"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
)

// comparison is a guard that compares a part of the input, or its length, with a
// literal. A boolean field is a comparison with true.
type comparison struct {
	of schema
	op token.Token
	// with is a literal, or _|_ in a test for existence.
	with ast.Expr
	// length means that the number of items is compared.
	length bool
}

// comparison reads a guard. If hold is false, the result is its negation. It returns
// false for a guard that is not understood.
func (r resolver) comparison(e ast.Expr, hold bool) (comparison, bool) {
	b, ok := e.(*ast.BinaryExpr)
	if !ok {
		of, ok := r.read(e)
		return comparison{of: of, op: token.EQL, with: ast.NewBool(hold)}, ok
	}
	op, other := b.Op, b.Y
	c, ok := r.compared(b.X)
	if !ok {
		// The field may be on the right, as in 3 < input.spec.replicas.
		if other = b.X; swaps[op] != 0 {
			op = swaps[op]
		}
		c, ok = r.compared(b.Y)
	}
	if c.op, c.with = op, other; !hold {
		c.op = opposites[op]
	}
	_, bottom := other.(*ast.BottomLit)
	return c, ok && (bottom || isLiteral(other))
}

// compared reads one side of a comparison: a part of the input, or its length.
func (r resolver) compared(e ast.Expr) (c comparison, ok bool) {
	if call, isCall := e.(*ast.CallExpr); isCall && len(call.Args) == 1 {
		name, builtin := syntax.CalleeName(call)
		c.length = builtin && name == "len"
		if !c.length {
			return c, false
		}
		e = call.Args[0]
	}
	c.of, ok = r.read(e)
	return c, ok
}

// possible reports whether a value of the schema can satisfy the comparison. It is true
// if that is not known: a false problem is worse than a missed one.
func (c comparison) possible() bool {
	want := c.with
	if _, bottom := want.(*ast.BottomLit); bottom || c.length || len(c.of.shape) == 0 {
		return true
	}
	switch c.op {
	case token.EQL:
	case token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		want = &ast.UnaryExpr{Op: c.op, X: want}
	default:
		return true
	}
	return len(shape.Intersect(c.of.shape, shapeOf(want))) > 0
}

// choices returns the choice of a value in the input for which the comparison holds,
// or nil. Only equality gives an exact want. For any other comparison the value is
// the first candidate that satisfies both the comparison and the schema.
func (c comparison) choices() []choice {
	_, bottom := c.with.(*ast.BottomLit)
	switch {
	case bottom && c.op == token.NEQ:
		return []choice{{{c.of.wantPath, c.of.anyValue(), true, true}}}
	case bottom && c.op == token.EQL:
		return []choice{{{path: c.of.wantPath, exact: true}}}
	case bottom, isNull(c.with):
		return nil
	case c.length:
		// Samples never have more than one item per list. This understands guards
		// such as len(input.spec.ports) > 0.
		if item, ok := c.of.item(); ok && isTrue(ast.NewLit(token.INT, "1"), c.op, c.with) {
			return []choice{{{path: item.wantPath, value: ast.NewIdent("_"), present: true}}}
		}
		return nil
	case c.op == token.EQL && c.of.takes(c.with):
		return []choice{{{path: c.of.wantPath, value: c.with, exact: true}}}
	}
	for _, candidate := range c.of.candidates(c.with) {
		if isTrue(candidate, c.op, c.with) {
			return []choice{{{path: c.of.wantPath, value: candidate}}}
		}
	}
	return nil
}

// choices returns the ways in which a guard can hold, or not hold if hold is
// false. Every input that makes it hold satisfies one of the choices. For an
// expression that is not understood it returns noWants.
//
// A conjunction combines the choices of its operands, a disjunction lists them
// side by side. If hold is false, the two swap their roles, by De Morgan's laws.
func (r resolver) choices(e ast.Expr, hold bool) []choice {
	switch x := e.(type) {
	case *ast.ParenExpr:
		return r.choices(x.X, hold)
	case *ast.UnaryExpr:
		if x.Op == token.NOT {
			return r.choices(x.X, !hold)
		}
	case *ast.BinaryExpr:
		switch {
		case x.Op == token.LAND && hold, x.Op == token.LOR && !hold:
			return combine(r.choices(x.X, hold), r.choices(x.Y, hold))
		case x.Op == token.LAND, x.Op == token.LOR:
			return slices.Concat(r.choices(x.X, hold), r.choices(x.Y, hold))
		}
	case *ast.Ident:
		if _, ok := r.read(x); !ok {
			if bound, r, ok := r.follow(x); ok {
				return r.choices(bound, hold)
			}
		}
	}
	if c, ok := r.comparison(e, hold); ok {
		if found := c.choices(); found != nil {
			return found
		}
	}
	return noWants
}

// isTrue reports whether the comparison of two literals holds.
func isTrue(a ast.Expr, op token.Token, b ast.Expr) bool {
	holds, err := cuecontext.New().BuildExpr(&ast.BinaryExpr{Op: op, X: a, Y: b}).Bool()
	return err == nil && holds
}

// isLiteral reports whether an expression is a literal scalar. A negative number is a
// literal, although CUE parses it as a unary expression.
func isLiteral(e ast.Expr) bool {
	if u, ok := e.(*ast.UnaryExpr); ok && u.Op == token.SUB {
		e = u.X
	}
	_, ok := e.(*ast.BasicLit)
	return ok
}

// isNull reports whether an expression is null.
func isNull(e ast.Expr) bool {
	l, ok := e.(*ast.BasicLit)
	return ok && l.Kind == token.NULL
}

// opposites has for each comparison the one that holds exactly if it does not.
var opposites = map[token.Token]token.Token{
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LSS: token.GEQ, token.GEQ: token.LSS,
	token.GTR: token.LEQ, token.LEQ: token.GTR, token.MAT: token.NMAT, token.NMAT: token.MAT,
}

// swaps has the comparisons for swapped operands: a < b is b > a. The others are
// symmetric.
var swaps = map[token.Token]token.Token{
	token.LSS: token.GTR, token.LEQ: token.GEQ, token.GTR: token.LSS, token.GEQ: token.LEQ,
}
