package crdgen

import (
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// isOr says whether x is the disjunction of a list's items.
func isOr(x *ast.CallExpr) bool {
	name, ok := calleeName(x)
	return ok && name == "or" && len(x.Args) == 1
}

// kindsAmong are the kinds of e's values, told from the source: TopKind where they
// can't be. What else a field is declared to be leaves it fewer.
func (r *reader) kindsAmong(e ast.Expr) cue.Kind { return r.kindsIn(e, nil) }

func (r *reader) kindsIn(e ast.Expr, followed []ast.Node) cue.Kind {
	e = expression(e)
	if e == nil {
		return cue.TopKind
	}
	switch x := e.(type) {
	case *ast.BinaryExpr:
		switch x.Op {
		case token.OR:
			return r.kindsIn(x.X, followed) | r.kindsIn(x.Y, followed)
		case token.AND:
			return r.kindsIn(x.X, followed) & r.kindsIn(x.Y, followed)
		}
	case *ast.UnaryExpr:
		if x.Op == token.MUL {
			return r.kindsIn(x.X, followed)
		}
	case *ast.CallExpr:
		if isOr(x) {
			return r.itemKinds(x.Args[0], followed)
		}
	case *ast.Ident:
		if anyFieldRefers(x) && !slices.Contains(followed, x.Node) {
			return r.kindsIn(expression(x.Node), append(followed, x.Node))
		}
	}
	if anyFieldRefers(e) {
		return cue.TopKind
	}
	if v, ok := r.build(e); ok && v.IncompleteKind() != cue.BottomKind {
		return v.IncompleteKind()
	}
	return cue.TopKind
}

// itemKinds are the kinds of the items of a field that is declared as [...T].
func (r *reader) itemKinds(e ast.Expr, followed []ast.Node) cue.Kind {
	id, ok := e.(*ast.Ident)
	if !ok {
		return cue.TopKind
	}
	list, ok := expression(id.Node).(*ast.ListLit)
	if !ok || len(list.Elts) != 1 {
		return cue.TopKind
	}
	rest, ok := list.Elts[0].(*ast.Ellipsis)
	if !ok || rest.Type == nil {
		return cue.TopKind
	}
	return r.kindsIn(rest.Type, followed)
}

// isOpenChoice says whether e may leave a choice to the instance although all that
// it refers to is given.
func isOpenChoice(e ast.Expr) bool {
	switch x := expression(e).(type) {
	case *ast.BinaryExpr:
		return x.Op == token.OR && defaults(x) != 1 || x.Op == token.AND && (isOpenChoice(x.X) || isOpenChoice(x.Y))
	case *ast.CallExpr:
		return isOr(x)
	}
	return false
}

// defaults is how many members of the disjunction e are marked.
func defaults(e ast.Expr) int {
	switch x := expression(e).(type) {
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

// operandKind is what kinds of values the operand a of an operation has.
func (r *reader) operandKind(a cue.Value) cue.Kind {
	if !dependsOnInput(expression(a.Source())) {
		if k := a.Kind(); k != cue.BottomKind {
			return k
		}
		return cue.TopKind
	}
	// Only a plain reference to a plain field has the kind that it will have:
	// operations take the defaults of their operands.
	if r.conjunctOf(a).op != cue.SelectorOp {
		return cue.TopKind
	}
	parts, dropped := r.conjuncts(cue.Dereference(a))
	if dropped || slices.ContainsFunc(parts, func(p conjunct) bool { return dependsOnInput(expression(p.Source())) }) {
		return cue.TopKind
	}
	if kinds := a.IncompleteKind(); kinds != cue.BottomKind {
		return kinds
	}
	return cue.TopKind
}
