package translate

import (
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/schema/cel"
	"github.com/pequod-io/pequod/internal/schema/shape"
)

// guard translates the expression of an if. The caller needs an exact predicate:
// for a guard, what doesn't hold matters as much as what does. The result has the form of the expression: && for &&, || for ||, and a comparison
// for a comparison.
func (t *translator) guard(e ast.Expr) cel.Predicate {
	switch x := e.(type) {
	case *ast.ParenExpr:
		return t.guard(x.X)
	case *ast.UnaryExpr:
		if x.Op == token.NOT {
			return not(t.guard(x.X))
		}
	case *ast.BinaryExpr:
		switch x.Op {
		case token.LAND:
			return cel.AllOf(t.guard(x.X), t.guard(x.Y))
		case token.LOR:
			return cel.AnyOf(t.guard(x.X), t.guard(x.Y))
		}
		if _, bottom := x.Y.(*ast.BottomLit); bottom {
			return t.isPresent(x)
		}
		a, okA := t.value(x.X)
		b, okB := t.value(x.Y)
		if !okA || !okB {
			return cel.Unknown()
		}
		return compareValues(a, x.Op, b)
	}
	v, ok := t.value(e)
	if !ok || shape.KindsOf(v.shape) != shape.BoolKind {
		return cel.Unknown()
	}
	return cel.Predicate{Text: v.text, Exact: true}
}

// not negates an exact predicate.
func not(p cel.Predicate) cel.Predicate {
	switch {
	case !p.Exact:
		return cel.Unknown()
	case p.Text == "":
		return cel.Never()
	case p.Text == "false":
		return cel.Always()
	}
	return cel.Predicate{Text: cel.Negated(p.Text), Exact: true}
}

// isPresent translates x != _|_ and x == _|_, which test whether a field is
// present.
func (t *translator) isPresent(x *ast.BinaryExpr) cel.Predicate {
	path, ok := t.path(x.X)
	if t.isGuarded(x.X) {
		// For CUE, a field is absent, too, if an if makes it an error.
		return cel.Unknown()
	}
	if !ok || x.Op != token.EQL && x.Op != token.NEQ {
		return cel.Unknown()
	}
	a, ok := t.look(path)
	if !ok {
		return cel.Unknown()
	}
	p := cel.Always()
	for i, g := range a.presences {
		switch {
		case g.nullable:
			return cel.Unknown()
		// A field of an absent struct is absent, so all optional fields on the
		// way count.
		case g.optional:
			p = cel.AllOf(p, cel.Predicate{Text: g.text, Exact: true})
		case i < len(a.presences)-1:
			return cel.Unknown()
		}
	}
	if x.Op == token.EQL {
		return not(p)
	}
	return p
}

// isGuarded reports whether an if or a for adds to the field that e names.
func (t *translator) isGuarded(e ast.Expr) bool {
	found := false
	ast.Walk(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			for _, f := range t.frames {
				name, declared := declaredName(f.Literals, id)
				found = found || declared && f.Guarded.Touches(name)
			}
		}
		return true
	}, nil)
	return found
}
