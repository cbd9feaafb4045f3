package vet

import (
	"slices"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// want is what an input needs at a place for a condition to hold: a value, with
// "_" for any value, or nothing at all.
type want struct {
	at    []step
	value ast.Expr // nil for nothing
	// exact says that nothing else will do; of what is only to be present, that
	// nothing won't.
	exact, present bool
}

// step leads to a field; or to an item: of a map, where the field is its key, or
// of a list, where there is no field.
type step struct {
	field string
	item  bool
}

var listItem = step{item: true}

// choice is a set of wants that make a condition hold together.
type choice []want

// maxChoices bounds the ways to make one condition hold that are looked at.
const maxChoices = 16

// both gives the choices that make two conditions hold.
func both(a, b []choice) []choice {
	var all []choice
	for _, x := range a {
		for _, y := range b {
			if len(all) == maxChoices {
				return all
			}
			all = append(all, slices.Concat(x, y))
		}
	}
	return all
}

// anyhow is the choice where nothing is wanted.
var anyhow = []choice{{}}

// contradicts says whether a choice wants what can't be.
func (c choice) contradicts() bool {
	for i, a := range c {
		for _, b := range c[:i] {
			if a.excludes(b) || b.excludes(a) {
				return true
			}
		}
	}
	return false
}

// excludes says whether nothing has what both want.
func (w want) excludes(other want) bool {
	if !w.exact || !other.exact || len(w.at) > len(other.at) || !slices.Equal(w.at, other.at[:len(w.at)]) {
		return false
	}
	switch {
	case slices.ContainsFunc(w.at, func(s step) bool { return s.item }):
		return false // it may be of another item
	case w.value == nil:
		return other.value != nil
	case len(w.at) < len(other.at) || other.value == nil || w.present || other.present:
		return false
	}
	return !isTrue(w.value, token.EQL, other.value)
}

// choices gives the ways in which a condition may come to hold, or not to hold:
// it does in no other way. Where that isn't understood nothing is wanted.
func (s *selectors) choices(e ast.Expr, in scope, hold bool) []choice {
	switch x := e.(type) {
	case *ast.ParenExpr:
		return s.choices(x.X, in, hold)
	case *ast.UnaryExpr:
		if x.Op == token.NOT {
			return s.choices(x.X, in, !hold)
		}
	case *ast.BinaryExpr:
		a, b := x.X, x.Y
		switch {
		case x.Op == token.LAND && hold, x.Op == token.LOR && !hold:
			return both(s.choices(a, in, hold), s.choices(b, in, hold))
		case x.Op == token.LAND, x.Op == token.LOR:
			return slices.Concat(s.choices(a, in, hold), s.choices(b, in, hold))
		}
		if found := s.compared(x.Op, a, b, in, hold); found != nil {
			return found
		}
		if found := s.compared(flipped(x.Op), b, a, in, hold); found != nil {
			return found
		}
	case *ast.Ident:
		if let, ok := in[x.Name]; ok && let.expr != nil {
			return s.choices(let.expr, let.in, hold)
		}
		if found := s.valued(e, in, token.EQL, ast.NewBool(hold)); found != nil {
			return found
		}
	case *ast.SelectorExpr, *ast.IndexExpr:
		if found := s.valued(e, in, token.EQL, ast.NewBool(hold)); found != nil {
			return found
		}
	}
	return anyhow
}

// compared gives the ways in which a comparison may come out, nil where that
// isn't understood.
func (s *selectors) compared(op token.Token, a, b ast.Expr, in scope, hold bool) []choice {
	if !hold {
		op = opposite(op)
	}
	if _, ok := b.(*ast.BottomLit); ok {
		of, ok := s.quietly(a, in)
		switch {
		case !ok:
			return nil
		case op == token.NEQ:
			return []choice{{{of.steps, of.something(), true, true}}}
		case op == token.EQL:
			return []choice{{{at: of.steps, exact: true}}}
		}
		return nil
	}
	if !isLiteral(b) {
		return nil
	}
	if call, ok := a.(*ast.CallExpr); ok && exprText(call.Fun) == "len" && len(call.Args) == 1 {
		return s.filled(call.Args[0], in, op, b)
	}
	return s.valued(a, in, op, b)
}

// filled gives the ways in which a list or a map may come to have one item, or
// none, if that is what its length is compared with.
func (s *selectors) filled(e ast.Expr, in scope, op token.Token, length ast.Expr) []choice {
	of, ok := s.quietly(e, in)
	if !ok {
		return nil
	}
	if isTrue(ast.NewLit(token.INT, "1"), op, length) {
		if item, ok := of.element(); ok {
			return []choice{{{at: item.steps, value: ast.NewIdent("_"), present: true}}}
		}
	}
	return nil
}

// valued gives the values that an input may have somewhere and that compare so
// with a literal.
func (s *selectors) valued(e ast.Expr, in scope, op token.Token, with ast.Expr) []choice {
	of, ok := s.quietly(e, in)
	if !ok {
		return nil
	}
	if op == token.EQL && of.takes(with) {
		return []choice{{{at: of.steps, value: with, exact: true}}}
	}
	for _, candidate := range of.candidates(with) {
		if isTrue(candidate, op, with) && of.takes(candidate) {
			return []choice{{{at: of.steps, value: candidate}}}
		}
	}
	return nil
}

// opposite is the comparison that holds where another doesn't.
func opposite(op token.Token) token.Token {
	switch op {
	case token.EQL:
		return token.NEQ
	case token.NEQ:
		return token.EQL
	case token.LSS:
		return token.GEQ
	case token.GEQ:
		return token.LSS
	case token.GTR:
		return token.LEQ
	case token.LEQ:
		return token.GTR
	case token.MAT:
		return token.NMAT
	case token.NMAT:
		return token.MAT
	}
	return token.ILLEGAL
}

// flipped is the comparison of the operands in the other order.
func flipped(op token.Token) token.Token {
	switch op {
	case token.LSS:
		return token.GTR
	case token.LEQ:
		return token.GEQ
	case token.GTR:
		return token.LSS
	case token.GEQ:
		return token.LEQ
	}
	return op
}
