package reference

import "github.com/google/cel-go/common/ast"

// Selects returns the fields that the expression reads and that are written
// out in it, each beginning with the id of a node, as far as they are: of
// config.data[key].x it is config, data. What is only tested by has() isn't
// read, save for what it is a field of.
func (e *Expression) Selects() []Path {
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

// selected returns the path that an expression consists of: a variable and
// steps that are known.
func (e *Expression) selected(x ast.Expr) (Path, bool) {
	operand, key, ok := step(x)
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
