package translate

import (
	"slices"

	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/schema/cel"
	"github.com/pequod-io/pequod/internal/schema/shape"
)

// areComparable reports whether CEL compares a with b as CUE does. Lists, structs
// and mixed shapes are not comparable.
func areComparable(a, b shape.Shape) bool {
	ka, kb := shape.KindsOf(a), shape.KindsOf(b)
	switch {
	case ka&^shape.NumberKind == 0 && kb&^shape.NumberKind == 0:
		// CEL compares a float with an integer in 64 bits.
		return ka == kb || isSmall(a) || isSmall(b)
	case ka == kb:
		return ka == shape.StringKind || ka == shape.BoolKind
	}
	return false
}

// isSmall reports whether float64 represents all numbers in s exactly.
func isSmall(s shape.Shape) bool {
	for _, t := range s {
		low, high := t.Interval()
		if low == nil || high == nil || !(&shape.Limit{At: low}).IsSafe() || !(&shape.Limit{At: high}).IsSafe() {
			return false
		}
	}
	return len(s) > 0
}

// compareValues returns the predicate a op b. It is [cel.Unknown] if both
// operands may overflow.
func compareValues(a operand, op token.Token, b operand) cel.Predicate {
	if !slices.Contains([]token.Token{token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ}, op) || !areComparable(a.shape, b.shape) || a.isLimited() && b.isLimited() {
		return cel.Unknown()
	}
	if a.isLimited() || b.isLimited() {
		return compareBeyond(a, op, b)
	}
	// The sign of a comparison is the same in CUE and CEL.
	sign := " " + op.String() + " "
	if shape.KindsOf(a.shape) != shape.KindsOf(b.shape) && (op == token.EQL || op == token.NEQ) {
		return cel.Predicate{Text: "double(" + a.text + ")" + sign + "double(" + b.text + ")", Exact: true}
	}
	return cel.Predicate{Text: a.text + sign + b.text, Exact: true}
}

// compareBeyond returns the predicate a op b if one of the two may overflow. A
// value beyond 64 bits is also beyond the other operand, which decides the
// comparison. For a > b + 1 where b + 1 may be above the range, the predicate is
//
//	!(self.b > 9223372036854775807 - 1) && self.a > self.b + 1
//
// because && skips its right side, which would fail, if the left is false.
func compareBeyond(a operand, op token.Token, b operand) cel.Predicate {
	if shape.KindsOf(a.shape) != shape.IntKind || shape.KindsOf(b.shape) != shape.IntKind {
		return cel.Unknown()
	}
	above, below := a.above, a.below
	holdsAbove, holdsBelow := op == token.GTR || op == token.GEQ || op == token.NEQ, op == token.LSS || op == token.LEQ || op == token.NEQ
	if b.isLimited() {
		above, below = b.above, b.below
		// If b overflows upwards, a op b holds for those operators that demand a
		// smaller a.
		holdsAbove, holdsBelow = holdsBelow, holdsAbove
		if op == token.NEQ {
			holdsAbove, holdsBelow = true, true
		}
	}
	a.above, a.below, b.above, b.below = "", "", "", ""
	p := compareValues(a, op, b)
	add := func(beyond string, holds bool) {
		q := cel.Predicate{Text: beyond, Exact: true}
		switch {
		case beyond == "":
		case holds:
			p = cel.AnyOf(q, p)
		default:
			p = cel.AllOf(cel.Predicate{Text: cel.Negated(beyond), Exact: true}, p)
		}
	}
	add(above, holdsAbove)
	add(below, holdsBelow)
	return p
}
