package vet

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/token"
)

// something is any value that the schema takes. A scalar has to be concrete: to
// CUE one that isn't might as well not be there.
func (of schema) something() ast.Expr {
	if slices.ContainsFunc(of.values, isScalarKind) {
		for _, candidate := range append(of.named(), unspecified...) {
			if of.takes(candidate) {
				return candidate
			}
		}
	}
	return ast.NewIdent("_")
}

// mark stands in the strings of samples whose values say nothing.
const mark = "unspecified"

// unspecified are values that schemas often take.
var unspecified = []ast.Expr{
	ast.NewString(mark), ast.NewString("/" + mark), ast.NewString(mark + "." + mark), ast.NewString(strings.ToUpper(mark)),
	ast.NewBool(true), ast.NewBool(false), ast.NewLit(token.INT, "1"), ast.NewLit(token.INT, "8080"), ast.NewLit(token.FLOAT, "0.5"),
	ast.NewString("1"), ast.NewString("1Gi"), ast.NewString("1m"),
}

// saysNothing tells the strings that come from a sample.
func saysNothing(s string) bool { return strings.Contains(strings.ToLower(s), mark) }

// named are the values that the schema names.
func (of schema) named() []ast.Expr {
	var all []ast.Expr
	for _, v := range of.values {
		for _, alt := range alternatives(v) {
			if e, ok := alt.Syntax(cue.Final()).(ast.Expr); ok && isLiteral(e) {
				all = append(all, e)
			}
		}
	}
	return all
}

// candidates are values to try where a certain one is wanted: those that the
// schema names, those near a literal that they are compared with, and some that
// schemas often take.
func (of schema) candidates(with ast.Expr) []ast.Expr {
	all := of.named()
	if with != nil {
		for _, op := range []token.Token{token.ADD, token.SUB} {
			near := cuecontext.New().BuildExpr(&ast.BinaryExpr{Op: op, X: with, Y: ast.NewLit(token.INT, "1")})
			if e, ok := near.Syntax(cue.Final()).(ast.Expr); ok && near.Err() == nil {
				all = append(all, e)
			}
		}
	}
	for _, key := range sampleKeys(of.path) {
		all = append(all, ast.NewString(key))
	}
	return append(all, ast.NewBool(true), ast.NewBool(false), ast.NewLit(token.INT, "1"), ast.NewLit(token.INT, "8080"))
}

// takes says whether the schema takes a value.
func (of schema) takes(e ast.Expr) bool {
	value := cuecontext.New().BuildExpr(e)
	return slices.ContainsFunc(of.values, func(v cue.Value) bool {
		// A value alone doesn't keep what its schema says of other fields; and of
		// schemas of different versions of a kind nothing is known together.
		return value.Err() == nil && v.Unify(value).Err() == nil
	})
}

// isTrue compares two literals.
func isTrue(a ast.Expr, op token.Token, b ast.Expr) bool {
	holds, err := cuecontext.New().BuildExpr(&ast.BinaryExpr{Op: op, X: a, Y: b}).Bool()
	return err == nil && holds
}

// isLiteral tells scalars that are written out.
func isLiteral(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.BasicLit:
		return x.Kind != token.NULL
	case *ast.UnaryExpr:
		l, ok := x.X.(*ast.BasicLit)
		return ok && x.Op == token.SUB && (l.Kind == token.INT || l.Kind == token.FLOAT)
	}
	return false
}
