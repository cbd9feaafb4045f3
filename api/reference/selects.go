package reference

import "github.com/google/cel-go/common/ast"

// Selects returns the paths of the fields that the expression reads, as far as
// they are literal. Each path starts with the id of a node; for
// config.data[key].x it is config.data. A field that is only tested by has() is
// not read, but its parent is. Callers use the paths to find reads of Secrets
// before the graph is applied. The list is a lower bound: computed keys and
// variables of comprehensions are not followed.
func (e *Expression) Selects() []Path { return e.selects }

// Selects is [Expression.Selects] for one variable of an environment of [NewVariables]. The paths
// are those below the variable.
func (p *Program) Selects(variable string) []Path {
	of := *p.tree
	of.variable = variable
	return of.selects()
}

// selects computes [Expression.Selects].
func (e *tree) selects() []Path {
	var found []Path
	var visit func(ast.NavigableExpr)
	visit = func(n ast.NavigableExpr) {
		if path, ok := e.selected(n); ok {
			if n.Kind() == ast.SelectKind && n.AsSelect().IsTestOnly() {
				path = path[:len(path)-1]
			}
			if len(path) > 0 {
				found = append(found, path)
			}
			return
		}
		for _, child := range n.Children() {
			visit(child)
		}
	}
	visit(ast.NavigateAST(e.checked.NativeRep()))
	return found
}

// selected returns the path of an expression that consists of the variable and
// literal selections, and false for other expressions.
func (e *tree) selected(x ast.Expr) (Path, bool) {
	operand, key, ok := selection(x)
	if !ok {
		return Path{}, x.Kind() == ast.IdentKind && x.AsIdent() == e.variable
	}
	path, ok := e.selected(operand)
	if !ok {
		return nil, false
	}
	switch key := key.(type) {
	case string:
		return append(path, key), true
	case ast.Expr:
		if key.Kind() == ast.LiteralKind {
			switch value := key.AsLiteral().Value().(type) {
			case string:
				return append(path, value), true
			case int64:
				return append(path, int(value)), true
			}
		}
	}
	return nil, false
}
