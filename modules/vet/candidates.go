package vet

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/token"
)

// anyValue returns any value that the schema accepts, or _ if it finds none. A
// scalar must be concrete, because CUE treats a scalar that is not like a missing
// one. Literals of the schema come first: they are more likely to be meant than a
// placeholder.
func (of schema) anyValue() ast.Expr {
	if slices.ContainsFunc(of.values, isScalarKind) {
		for _, candidate := range append(of.literals(), commonValues...) {
			if of.takes(candidate) {
				return candidate
			}
		}
	}
	return ast.NewIdent("_")
}

// placeholder is part of all strings that samples invent. Checks ignore them,
// because they say nothing about real instances.
const placeholder = "unspecified"

// commonValues are values that many schemas accept, in the order in which they
// are tried: a plain name, a path, a domain name, an upper-case name, booleans, a
// small number, a port, a fraction, and a number, a quantity of memory and a
// duration (or CPU quantity) as strings.
var commonValues = []ast.Expr{
	ast.NewString(placeholder), ast.NewString("/" + placeholder), ast.NewString(placeholder + "." + placeholder), ast.NewString(strings.ToUpper(placeholder)),
	ast.NewBool(true), ast.NewBool(false), ast.NewLit(token.INT, "1"), ast.NewLit(token.INT, "8080"), ast.NewLit(token.FLOAT, "0.5"),
	ast.NewString("1"), ast.NewString("1Gi"), ast.NewString("1m"),
}

// isPlaceholder reports whether a string comes from a sample. It ignores case,
// because of the upper-case candidate, and accepts strings that the module
// composed from a placeholder.
func isPlaceholder(s string) bool { return strings.Contains(strings.ToLower(s), placeholder) }

// literals returns the literal values in the schema, such as those of an
// enumeration. For *"small" | "large" it returns both.
func (of schema) literals() []ast.Expr {
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

// candidates returns values to try for the schema: its literals, the neighbors of
// the literal that it is compared with, sample names, and common values. The
// neighbors satisfy strict comparisons: for a guard such as replicas > 3 they are
// 4 and 2. with may be nil.
//
// The caller filters the result, because the schema may not accept all of the
// values.
func (of schema) candidates(with ast.Expr) []ast.Expr {
	all := of.literals()
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

// takes reports whether the schema accepts a value.
func (of schema) takes(e ast.Expr) bool {
	value := cuecontext.New().BuildExpr(e)
	return slices.ContainsFunc(of.values, func(v cue.Value) bool {
		// Each schema is tried alone: a value need not satisfy the schemas of all
		// versions of a kind. The result may be incomplete, because other fields of
		// the schema are not set.
		return value.Err() == nil && v.Unify(value).Err() == nil
	})
}

// isTrue reports whether the comparison of two literals holds.
func isTrue(a ast.Expr, op token.Token, b ast.Expr) bool {
	holds, err := cuecontext.New().BuildExpr(&ast.BinaryExpr{Op: op, X: a, Y: b}).Bool()
	return err == nil && holds
}

// isLiteral reports whether an expression is a literal scalar other than null. A
// negative number is a literal, although CUE parses it as a unary expression.
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
