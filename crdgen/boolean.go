package crdgen

import (
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// condition is the predicate that e, the condition of an if, is true. It is
// exact or unknown: what doesn't hold is as much of interest as what does.
func (t *translator) condition(e ast.Expr) predicate {
	switch x := e.(type) {
	case *ast.ParenExpr:
		return t.condition(x.X)
	case *ast.UnaryExpr:
		if x.Op == token.NOT {
			return not(t.condition(x.X))
		}
	case *ast.CallExpr:
		return t.test(x)
	case *ast.BinaryExpr:
		switch x.Op {
		case token.LAND:
			return exactly(t.condition(x.X), t.condition(x.Y), allOf)
		case token.LOR:
			return exactly(t.condition(x.X), t.condition(x.Y), anyOf)
		case token.MAT, token.NMAT:
			return t.matches(x)
		}
		if _, bottom := x.Y.(*ast.BottomLit); bottom {
			return t.presence(x)
		}
		a, ok := t.value(x.X)
		if !ok || !isPlain(a.shape) {
			return unknown()
		}
		b, ok := t.value(x.Y)
		if !ok || !isPlain(b.shape) {
			return unknown()
		}
		return compareValues(a, x.Op, b)
	}
	v, ok := t.value(e)
	if !ok || kindsOf(v.shape) != cue.BoolKind {
		return unknown()
	}
	return predicate{text: v.text, exact: true}
}

// isPlain says whether s is of one kind that CEL compares.
func isPlain(s shape) bool {
	kinds := kindsOf(s)
	return kinds == cue.BoolKind || kinds == cue.StringKind || kinds&^cue.NumberKind == 0
}

// exactly joins two predicates that are exact.
func exactly(a, b predicate, of func(...predicate) predicate) predicate {
	if !a.exact || !b.exact {
		return unknown()
	}
	return of(a, b)
}

func not(p predicate) predicate {
	switch {
	case !p.exact:
		return unknown()
	case p.text == "":
		return never()
	case p.text == "false":
		return always()
	}
	return predicate{text: negated(p.text), exact: true}
}

// presence is the predicate that a field is there, or isn't.
func (t *translator) presence(x *ast.BinaryExpr) predicate {
	path, ok := t.path(x.X)
	if t.isConditional(x.X) {
		// What a comprehension makes an error is absent, says CUE.
		return unknown()
	}
	if !ok || x.Op != token.EQL && x.Op != token.NEQ {
		return unknown()
	}
	a, ok := t.look(path)
	if !ok {
		return unknown()
	}
	p := always()
	for i, g := range a.guards {
		switch {
		case g.nullable:
			return unknown()
		case g.optional:
			p = allOf(p, predicate{text: g.text, exact: true})
		case i < len(a.guards)-1:
			return unknown()
		}
	}
	if x.Op == token.EQL {
		return not(p)
	}
	return p
}

// isConditional says whether comprehensions add to the field that e is about.
func (t *translator) isConditional(e ast.Expr) bool {
	found := false
	ast.Walk(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			for _, f := range t.frames {
				name, declared := declaredName(f.literals, id)
				found = found || declared && f.condition.touches(name)
			}
		}
		return true
	}, nil)
	return found
}

// matches is the predicate that a string matches a pattern, or doesn't.
func (t *translator) matches(x *ast.BinaryExpr) predicate {
	a, ok := t.value(x.X)
	if !ok || kindsOf(a.shape) != cue.StringKind {
		return unknown()
	}
	b, ok := t.constant(x.Y)
	if !ok || kindsOf(b.shape) != cue.StringKind {
		return unknown()
	}
	p := predicate{text: a.text + ".matches(" + b.text + ")", exact: true}
	if x.Op == token.NMAT {
		return not(p)
	}
	return p
}

// test is the predicate that a function of strings says true.
func (t *translator) test(x *ast.CallExpr) predicate {
	name, ok := calleeName(x)
	method := map[string]string{"strings.HasPrefix": "startsWith", "strings.HasSuffix": "endsWith", "strings.Contains": "contains"}[name]
	if !ok || len(x.Args) != 2 {
		return unknown()
	}
	a, okA := t.value(x.Args[0])
	b, okB := t.value(x.Args[1])
	if !okA || !okB || a.isLimited() || b.isLimited() {
		return unknown()
	}
	if name == "list.Contains" && kindsOf(a.shape) == cue.ListKind {
		items := sumOfLists(a.shape).items
		if kinds := kindsOf(items); kinds == kindsOf(b.shape) && slices.Contains([]cue.Kind{cue.StringKind, cue.IntKind}, kinds) {
			return predicate{text: b.text + " in " + a.text, exact: true}
		}
	}
	if method == "" || kindsOf(a.shape) != cue.StringKind || kindsOf(b.shape) != cue.StringKind {
		return unknown()
	}
	return predicate{text: a.text + "." + method + "(" + b.text + ")", exact: true}
}
