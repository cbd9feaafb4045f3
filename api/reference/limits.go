package reference

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/common/ast"

	"github.com/pequod-io/pequod/internal/problem"
)

// Limits of one expression. They bound the time and the memory of a compilation,
// which CEL's own limits do not: its parser accepts 100,000 characters, and the
// time of its type checker grows with the square of the number of calls, and with
// the size of the types, which it writes out.
const (
	// MaxLength is the maximum length of an expression in bytes.
	MaxLength = 4096
	// MaxOperations is the maximum number of operators, function calls, list and
	// map literals and macros. A macro such as all counts as the operations that
	// it expands to, which are about five.
	MaxOperations = 500
	// MaxNesting is the maximum number of list and map literals, macros and calls of
	// optional.of and type that are nested. So deep are the types of the expression.
	MaxNesting = 20
	// maxOptionalMaps is the maximum number of the macros optMap and optFlatMap.
	// Each copies the expression that it is called on, so the size of a chain of
	// them doubles with every call.
	maxOptionalMaps = 4
)

// Volatile returns the fields of an object's metadata that change with every write,
// also with one that changes nothing else. Expressions cannot read them.
func Volatile() []string { return []string{"resourceVersion", "managedFields"} }

// tooLarge returns the problem of an expression that exceeds a limit.
func tooLarge(format string, args ...any) problem.List {
	return problem.List{{Rule: problem.RuleSize, Message: fmt.Sprintf(format, args...)}}
}

// checkSource returns the problem of an expression that must not be parsed, or
// nil.
func checkSource(expr string) problem.List {
	if len(expr) > MaxLength {
		return tooLarge("the expression is %d bytes long; the limit is %d", len(expr), MaxLength)
	}
	// Names in string literals count too; that is harmless for so rare a name.
	if n := strings.Count(expr, "optMap") + strings.Count(expr, "optFlatMap"); n > maxOptionalMaps {
		return tooLarge("the expression calls optMap and optFlatMap %d times; the limit is %d", n, maxOptionalMaps)
	}
	return nil
}

// checkTree returns the problem of a parsed expression that must not be
// type-checked, or nil.
func checkTree(tree *ast.AST, c count) problem.List {
	if c.operations > MaxOperations {
		return tooLarge("the expression has %d operations; the limit is %d", c.operations, MaxOperations)
	}
	if n := nesting(tree.Expr()); n > MaxNesting {
		return tooLarge("the expression nests %d lists, maps and macros; the limit is %d", n, MaxNesting)
	}
	return nil
}

// count is the size of a parsed expression.
type count struct {
	nodes      int  // of the syntax tree
	operations int  // as [MaxOperations] limits them
	folds      bool // see Expression
}

func countOf(tree *ast.AST) (c count) {
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		c.nodes++
		switch e.Kind() {
		case ast.CallKind:
			c.operations++
			args := e.AsCall().Args()
			c.folds = c.folds || len(args) == 1 && args[0].Kind() == ast.LiteralKind
		case ast.ListKind, ast.MapKind, ast.StructKind, ast.ComprehensionKind:
			c.operations++
		}
	}))
	return c
}

// nesting returns the number of operations that are nested and whose type contains
// the type of an operand: see [MaxNesting]. The range of a macro does not count,
// because the type of its elements is dyn; see [loosen].
func nesting(e ast.Expr) int {
	deepest, own := 0, 0
	visit := func(children ...ast.Expr) {
		for _, child := range children {
			deepest = max(deepest, nesting(child))
		}
	}
	switch e.Kind() {
	case ast.SelectKind:
		visit(e.AsSelect().Operand())
	case ast.CallKind:
		c := e.AsCall()
		if c.IsMemberFunction() {
			visit(c.Target())
		}
		visit(c.Args()...)
		switch c.FunctionName() {
		case "of", "ofNonZeroValue", "optional.of", "optional.ofNonZeroValue", "type":
			own = 1
		}
	case ast.ListKind:
		visit(e.AsList().Elements()...)
		own = 1
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			visit(entry.AsMapEntry().Key(), entry.AsMapEntry().Value())
		}
		own = 1
	case ast.StructKind:
		for _, field := range e.AsStruct().Fields() {
			visit(field.AsStructField().Value())
		}
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		visit(c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result())
		if c.AccuInit().Kind() != ast.ListKind { // otherwise the steps contain list literals
			deepest++
		}
		return max(deepest, nesting(c.IterRange()))
	}
	return deepest + own
}
