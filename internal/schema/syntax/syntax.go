package syntax

import (
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	cueformat "cuelang.org/go/cue/format"
	"cuelang.org/go/cue/token"
)

// calleeName is the name of a builtin that x calls.
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

// textOf is an expression in CUE's words, on one line.
func Text(n ast.Node) string {
	data, err := cueformat.Node(n, cueformat.Simplify())
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(data)), " ")
}

// isBound says whether e is a comparison, which supplies no value.
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

// errorOf is the message of an error in a schema.
func ErrorOf(e ast.Expr) string {
	if call, ok := e.(*ast.CallExpr); ok && len(call.Args) == 1 {
		return strings.Trim(Text(call.Args[0]), `"`)
	}
	return Text(e)
}

// isBottom says whether e is an error.
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

// basicTypes are the names of the types that are all of their kind.
func BasicTypes() []string {
	return []string{"_", "null", "bool", "int", "float", "number", "string"}
}

// membersOf are the members of the disjunction e, or e itself.
func MembersOf(e ast.Expr) []ast.Expr {
	if x, ok := e.(*ast.BinaryExpr); ok && x.Op == token.OR {
		return append(MembersOf(x.X), MembersOf(x.Y)...)
	}
	return []ast.Expr{e}
}

// literalMembers is how many structs the disjunction e lists. CUE leaves out those
// that fail without input.
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

// calls says whether anything in n calls a function, which may fail for want of
// data: struct.MinFields does.
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

// keyOf names a struct by all of its literals, so that a generic definition may
// be used inside of itself with another argument.
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

// isOr says whether x is the disjunction of a list's items.
func IsOr(x *ast.CallExpr) bool {
	name, ok := CalleeName(x)
	return ok && name == "or" && len(x.Args) == 1
}

// isOpenChoice says whether e may leave a choice to the instance although all that
// it refers to is given.
func IsOpenChoice(e ast.Expr) bool {
	switch x := Expression(e).(type) {
	case *ast.BinaryExpr:
		return x.Op == token.OR && defaults(x) != 1 || x.Op == token.AND && (IsOpenChoice(x.X) || IsOpenChoice(x.Y))
	case *ast.CallExpr:
		return IsOr(x)
	}
	return false
}

// defaults is how many members of the disjunction e are marked.
func defaults(e ast.Expr) int {
	switch x := Expression(e).(type) {
	case *ast.BinaryExpr:
		if x.Op == token.OR {
			return defaults(x.X) + defaults(x.Y)
		}
	case *ast.UnaryExpr:
		if x.Op == token.MUL {
			return 1
		}
	}
	return 0
}

// callsAmong says whether a member of the disjunction e calls a function of other
// fields.
func CallsAmong(e ast.Expr) bool {
	x, ok := e.(*ast.BinaryExpr)
	if !ok {
		return false
	}
	return slices.ContainsFunc([]ast.Expr{x.X, x.Y}, func(e ast.Expr) bool {
		_, isCall := Expression(e).(*ast.CallExpr)
		return isCall && DependsOnInput(e) || CallsAmong(Expression(e))
	})
}

// callsOnOwn says whether a condition of a comprehension calls a function on a field
// that its body declares: where that field is a disjunction, CUE v0.17.1 may forget
// the condition.
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

// isOpen says whether lit ends in an ellipsis, also where its type is an error.
func IsOpen(lit *ast.ListLit) bool {
	if lit == nil || len(lit.Elts) == 0 {
		return false
	}
	_, ok := lit.Elts[len(lit.Elts)-1].(*ast.Ellipsis)
	return ok
}

// attributeName is the name of the attribute for what CUE has no words for.
const AttributeName = "k8s"

// attributed is the position of the attribute in d, if it has one of ours.
func attributed(f *ast.Field) (token.Pos, bool) {
	for _, a := range f.Attrs {
		if name, _ := a.Split(); name == AttributeName {
			return a.At, true
		}
	}
	return token.NoPos, false
}
