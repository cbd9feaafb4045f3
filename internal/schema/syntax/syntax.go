package syntax

import (
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	cueformat "cuelang.org/go/cue/format"
	"cuelang.org/go/cue/token"
)

// CalleeName returns the name of the builtin that x calls, such as "len" or
// "strings.MinRunes". It reports false if x calls anything else. The package is
// named by its import path, so an alias of the import doesn't matter.
func CalleeName(x *ast.CallExpr) (string, bool) {
	switch f := x.Fun.(type) {
	case *ast.Ident:
		return f.Name, f.Node == nil
	case *ast.SelectorExpr:
		pkg, ok := f.X.(*ast.Ident)
		if !ok {
			return "", false
		}
		spec, ok := pkg.Node.(*ast.ImportSpec)
		name, ok2 := StaticName(f.Sel)
		if !ok || !ok2 {
			return "", false
		}
		return strings.Trim(spec.Path.Value, `"`) + "." + name, true
	}
	return "", false
}

// Text returns n in CUE syntax, on one line. It is for messages only. The result
// is empty if n can't be formatted.
func Text(n ast.Node) string {
	data, err := cueformat.Node(n, cueformat.Simplify())
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(data)), " ")
}

// IsBound reports whether e is a comparison or a basic type, which constrain a
// field without supplying a value. A unary operator other than *, -, + and ! is a
// comparison. null is left out because it is a value.
func IsBound(e ast.Expr) bool {
	switch x := Expression(e).(type) {
	case *ast.UnaryExpr:
		return x.Op != token.MUL && x.Op != token.SUB && x.Op != token.ADD && x.Op != token.NOT
	case *ast.BinaryExpr:
		return x.Op == token.AND && IsBound(x.X) && IsBound(x.Y)
	case *ast.Ident:
		return x.Node == nil && slices.Contains(BasicTypes(), x.Name) && x.Name != "null"
	}
	return false
}

// ErrorOf returns the message of an expression that [IsBottom].
func ErrorOf(e ast.Expr) string {
	if call, ok := e.(*ast.CallExpr); ok && len(call.Args) == 1 {
		return strings.Trim(Text(call.Args[0]), `"`)
	}
	return Text(e)
}

// IsBottom reports whether e is an error: _|_ or error("…").
func IsBottom(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.BottomLit:
		return true
	case *ast.ParenExpr:
		return IsBottom(x.X)
	case *ast.CallExpr:
		name, ok := CalleeName(x)
		return ok && name == "error"
	}
	return false
}

// BasicTypes returns the names of the types that admit all values of their
// kind.
func BasicTypes() []string {
	return []string{"_", "null", "bool", "int", "float", "number", "string"}
}

// MembersOf returns the members of the disjunction e, or e itself if it is
// none.
func MembersOf(e ast.Expr) []ast.Expr {
	if x, ok := e.(*ast.BinaryExpr); ok && x.Op == token.OR {
		return append(MembersOf(x.X), MembersOf(x.Y)...)
	}
	return []ast.Expr{e}
}

// LiteralMembers returns how many struct literals the disjunction e lists. CUE
// evaluates to fewer if some of them fail without data. For *{a: 1} | {b: 2} |
// string it is 2.
func LiteralMembers(e ast.Expr) int {
	switch x := e.(type) {
	case *ast.BinaryExpr:
		if x.Op == token.OR {
			return LiteralMembers(Expression(x.X)) + LiteralMembers(Expression(x.Y))
		}
	case *ast.UnaryExpr:
		if x.Op == token.MUL {
			return LiteralMembers(Expression(x.X))
		}
	case *ast.StructLit:
		return 1
	}
	return 0
}

// Calls reports whether anything in n calls a function. A call may fail for
// want of data; struct.MinFields does.
func Calls(n ast.Node) bool {
	if IsNil(n) {
		return false
	}
	found := false
	ast.Walk(n, func(n ast.Node) bool {
		_, isCall := n.(*ast.CallExpr)
		found = found || isCall
		return !found
	}, nil)
	return found
}

// KeyOf identifies a struct by all of its literals, so that a generic
// definition can be used inside of itself with another argument.
func KeyOf(literals []ast.Node) string {
	var keys []string
	for _, lit := range literals {
		if k := Key(lit); k != "" {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return strings.Join(keys, " ")
}

// IsOr reports whether x is the call or(list), the disjunction of a list's
// items.
func IsOr(x *ast.CallExpr) bool {
	name, ok := CalleeName(x)
	return ok && name == "or" && len(x.Args) == 1
}

// MayFail reports whether e may be an error for some values of the fields that it
// refers to, although all of them are given. Operators other than & fail only for
// operands of other kinds, which the fields' own types exclude.
func MayFail(e ast.Expr) bool {
	failing := false
	ast.Walk(e, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.BinaryExpr:
			failing = failing || x.Op == token.AND
		case *ast.Field:
			_, static := StaticName(x.Label)
			failing = failing || !static
		case *ast.CallExpr, *ast.IndexExpr, *ast.SliceExpr, *ast.BottomLit:
			failing = true
		}
		return !failing
	}, nil)
	return failing
}

// IsOpenChoice reports whether e may leave a choice to the instance even if all
// fields that it refers to are given. A disjunction with exactly one default
// leaves none: CUE takes the default.
func IsOpenChoice(e ast.Expr) bool {
	switch x := Expression(e).(type) {
	case *ast.BinaryExpr:
		return x.Op == token.OR && Defaults(x) != 1 || x.Op == token.AND && (IsOpenChoice(x.X) || IsOpenChoice(x.Y))
	case *ast.CallExpr:
		return IsOr(x)
	}
	return false
}

// Defaults returns how many members of the disjunction e are marked with *.
func Defaults(e ast.Expr) int {
	switch x := Expression(e).(type) {
	case *ast.BinaryExpr:
		if x.Op == token.OR {
			return Defaults(x.X) + Defaults(x.Y)
		}
	case *ast.UnaryExpr:
		if x.Op == token.MUL {
			return 1
		}
	}
	return 0
}

// CallsAmong reports whether a member of the disjunction e calls a function with
// other fields as arguments, or if indices is set, takes an element by other fields.
func (p Parameters) CallsAmong(e ast.Expr, indices bool) bool {
	x, ok := e.(*ast.BinaryExpr)
	if !ok || x.Op != token.OR {
		return false
	}
	return slices.ContainsFunc(MembersOf(x), func(e ast.Expr) bool {
		e = Expression(e)
		if marked, ok := e.(*ast.UnaryExpr); ok && marked.Op == token.MUL {
			e = Expression(marked.X)
		}
		if of, ok := e.(*ast.SelectorExpr); ok {
			e = Expression(of.X)
		}
		_, isCall := e.(*ast.CallExpr)
		_, isIndex := e.(*ast.IndexExpr)
		return (isCall || isIndex && indices) && p.DependsOnInput(e)
	})
}

// CallsOnOwn reports whether a clause of a comprehension calls a function on a
// field that its body declares.
func CallsOnOwn(x *ast.Comprehension) bool {
	body, ok := x.Value.(*ast.StructLit)
	if !ok {
		return false
	}
	own := map[string]bool{}
	for _, d := range body.Elts {
		if f, ok := d.(*ast.Field); ok {
			if name, ok := StaticName(f.Label); ok {
				own[name] = true
			}
		}
	}
	found := false
	for _, clause := range x.Clauses {
		ast.Walk(clause, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				for _, a := range call.Args {
					id, ok := a.(*ast.Ident)
					found = found || ok && own[id.Name]
				}
			}
			return !found
		}, nil)
	}
	return found
}

// IsOpen reports whether lit ends in an ellipsis. CUE's evaluation doesn't show
// it if the type of the items is an error.
func IsOpen(lit *ast.ListLit) bool {
	if lit == nil || len(lit.Elts) == 0 {
		return false
	}
	_, ok := lit.Elts[len(lit.Elts)-1].(*ast.Ellipsis)
	return ok
}

// AttributeName is the name of the attribute for what CUE has no words for.
const AttributeName = "k8s"

// attributed returns the position of the @k8s attribute of f. It reports false
// if f has none.
func attributed(f *ast.Field) (token.Pos, bool) {
	for _, a := range f.Attrs {
		if name, _ := a.Split(); name == AttributeName {
			return a.At, true
		}
	}
	return token.NoPos, false
}
