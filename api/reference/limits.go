package reference

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/common/ast"

	"github.com/pequod-io/pequod/internal/problem"
)

// Limits of one expression. They bound the time and the memory of a compilation,
// which CEL's own limits do not: its parser accepts 100,000 characters, and the
// time of its type checker grows with the square of the number of calls.
const (
	// MaxLength is the maximum length of an expression in bytes.
	MaxLength = 4096
	// MaxOperations is the maximum number of operators, function calls, list and
	// map literals and macros. A macro such as all counts as the operations that
	// it expands to, which are about five.
	MaxOperations = 500
	// maxOptionalMaps is the maximum number of the macros optMap and optFlatMap.
	// Each copies the expression that it is called on, so the size of a chain of
	// them doubles with every call.
	maxOptionalMaps = 4
)

// Volatile returns the fields of an object's metadata that change with every write,
// also with one that changes nothing else. Expressions cannot read them.
func Volatile() []string { return []string{"resourceVersion", "managedFields"} }

// checkSource returns the problem of an expression that must not be parsed, or
// nil.
func checkSource(expr string) problem.List {
	if len(expr) > MaxLength {
		return problem.List{{Rule: problem.RuleSize, Message: fmt.Sprintf("the expression is %d bytes long; the limit is %d", len(expr), MaxLength)}}
	}
	// Names in string literals count too; that is harmless for so rare a name.
	if n := strings.Count(expr, "optMap") + strings.Count(expr, "optFlatMap"); n > maxOptionalMaps {
		return problem.List{{Rule: problem.RuleSize, Message: fmt.Sprintf("the expression calls optMap and optFlatMap %d times; the limit is %d", n, maxOptionalMaps)}}
	}
	return nil
}

// checkOperations returns the problem of a parsed expression that must not be
// type-checked, or nil.
func checkOperations(tree *ast.AST) problem.List {
	if n := operations(tree); n > MaxOperations {
		return problem.List{{Rule: problem.RuleSize, Message: fmt.Sprintf("the expression has %d operations; the limit is %d", n, MaxOperations)}}
	}
	return nil
}

// operations counts what [MaxOperations] limits.
func operations(tree *ast.AST) int {
	n := 0
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.CallKind, ast.ListKind, ast.MapKind, ast.StructKind, ast.ComprehensionKind:
			n++
		}
	}))
	return n
}
