package vet

import (
	"slices"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// want is a requirement on the input: a value at a path, any value, or no value.
// Wants come from guards. Examples, with the value of exact and present:
//
//	spec.tier == "a"       {path: spec.tier, value: "a", exact}
//	spec.tls != _|_        {path: spec.tls, value: an example, exact, present}
//	spec.tls == _|_        {path: spec.tls, value: nil, exact}
//	spec.replicas > 3      {path: spec.replicas, value: 4}
type want struct {
	// path leads from the input to the value.
	path []element
	// value is a literal, or _ for any value, or nil if there must be no value.
	value ast.Expr
	// present means that any value satisfies the want, and value is an example.
	// exact means that no other value does; together with present it means that an
	// absent value does not.
	exact, present bool
}

// element is an element of a path: a field, or an item. For an item of a map, field
// is its key; for an item of a list, field is empty.
type element struct {
	field string
	item  bool
}

// listItem is the element that leads to the items of a list.
var listItem = element{item: true}

// choice is a list of wants that together make a guard hold. A guard has several
// choices if it is a disjunction: a || b holds if the wants of a or those of b
// are satisfied.
type choice []want

// maxChoices limits the number of choices for one guard, because nested guards
// multiply them. Choices beyond the limit are dropped, so that a sample may be
// missing. They never cause a false problem; see enter.
const maxChoices = 16

// combine returns the choices that satisfy one choice of a and one of b.
func combine(a, b []choice) []choice {
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

// noWants is a single choice without wants: any input will do, or the guard is not
// understood.
var noWants = []choice{{}}

// contradicts reports whether no input can satisfy all wants of the choice.
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

// excludes reports whether no input can satisfy both wants. It compares only exact
// wants, and no wants on items, because another item may satisfy the other want.
func (w want) excludes(other want) bool {
	if !w.exact || !other.exact || len(w.path) > len(other.path) || !slices.Equal(w.path, other.path[:len(w.path)]) {
		return false
	}
	switch {
	case slices.ContainsFunc(w.path, func(s element) bool { return s.item }):
		return false // another item may satisfy the other want
	case w.value == nil:
		return other.value != nil
	case len(w.path) < len(other.path) || other.value == nil || w.present || other.present:
		return false
	}
	return !isTrue(w.value, token.EQL, other.value)
}

// choices returns the ways in which a guard can hold, or not hold if hold is
// false. Every input that makes it hold satisfies one of the choices. For an
// expression that is not understood it returns noWants.
//
// A conjunction combines the choices of its operands, a disjunction lists them
// side by side. If hold is false, the two swap their roles, by De Morgan's laws.
// A boolean field x is a comparison with true or false.
func (s *inputWalker) choices(e ast.Expr, in bindings, hold bool) []choice {
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
			return combine(s.choices(a, in, hold), s.choices(b, in, hold))
		case x.Op == token.LAND, x.Op == token.LOR:
			return slices.Concat(s.choices(a, in, hold), s.choices(b, in, hold))
		}
		if found := s.comparisonChoices(x.Op, a, b, in, hold); found != nil {
			return found
		}
		// The field may be on the right, as in 3 < input.spec.replicas.
		if found := s.comparisonChoices(swapped(x.Op), b, a, in, hold); found != nil {
			return found
		}
	case *ast.Ident:
		if let, ok := in[x.Name]; ok && let.expr != nil {
			return s.choices(let.expr, let.in, hold)
		}
		if found := s.valueChoices(e, in, token.EQL, ast.NewBool(hold)); found != nil {
			return found
		}
	case *ast.SelectorExpr, *ast.IndexExpr:
		if found := s.valueChoices(e, in, token.EQL, ast.NewBool(hold)); found != nil {
			return found
		}
	}
	return noWants
}

// comparisonChoices returns the ways in which a comparison can hold, or nil if it
// is not understood.
func (s *inputWalker) comparisonChoices(op token.Token, a, b ast.Expr, in bindings, hold bool) []choice {
	if !hold {
		op = opposite(op)
	}
	// A comparison with bottom, x != _|_, tests whether x exists.
	if _, ok := b.(*ast.BottomLit); ok {
		of, ok := s.lookup(a, in)
		switch {
		case !ok:
			return nil
		case op == token.NEQ:
			return []choice{{{of.wantPath, of.anyValue(), true, true}}}
		case op == token.EQL:
			return []choice{{{path: of.wantPath, exact: true}}}
		}
		return nil
	}
	if !isLiteral(b) {
		return nil
	}
	if call, ok := a.(*ast.CallExpr); ok && exprText(call.Fun) == "len" && len(call.Args) == 1 {
		return s.lengthChoices(call.Args[0], in, op, b)
	}
	return s.valueChoices(a, in, op, b)
}

// lengthChoices returns the choice of a list or map with one item, if the
// comparison of its length holds for one item, or nil. It understands guards such
// as len(input.spec.ports) > 0. Samples never have more than one item per list.
func (s *inputWalker) lengthChoices(e ast.Expr, in bindings, op token.Token, length ast.Expr) []choice {
	of, ok := s.lookup(e, in)
	if !ok {
		return nil
	}
	if isTrue(ast.NewLit(token.INT, "1"), op, length) {
		if item, ok := of.item(); ok {
			return []choice{{{path: item.wantPath, value: ast.NewIdent("_"), present: true}}}
		}
	}
	return nil
}

// valueChoices returns the choice of a value in the input for which the
// comparison with a literal holds, or nil. Only equality gives an exact want. For
// any other comparison the value is the first candidate that satisfies both the
// comparison and the schema.
func (s *inputWalker) valueChoices(e ast.Expr, in bindings, op token.Token, with ast.Expr) []choice {
	of, ok := s.lookup(e, in)
	if !ok {
		return nil
	}
	if op == token.EQL && of.takes(with) {
		return []choice{{{path: of.wantPath, value: with, exact: true}}}
	}
	for _, candidate := range of.candidates(with) {
		if isTrue(candidate, op, with) && of.takes(candidate) {
			return []choice{{{path: of.wantPath, value: candidate}}}
		}
	}
	return nil
}

// opposite returns the comparison that holds exactly if op does not. For an
// operator that is no comparison it returns ILLEGAL.
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

// swapped returns the comparison for swapped operands: a < b is b > a. Symmetric
// operators are returned unchanged.
func swapped(op token.Token) token.Token {
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
