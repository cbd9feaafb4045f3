package translate

import (
	"math"
	"math/big"
	"strings"

	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/schema/cel"
	"github.com/pequod-io/pequod/internal/schema/shape"

	cueliteral "cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"
)

// within64 returns the range of the integers in s. An API server has only
// integers of 64 bits, so the range ends there. It reports false if s has other
// values than integers. A missing limit is the end of the 64-bit range.
func within64(s shape.Shape) (low, high *big.Rat, ok bool) {
	for _, t := range s {
		l, h := t.Interval()
		if t.Kind != shape.IntKind {
			return nil, nil, false
		}
		if l == nil || l.Cmp(least64()) < 0 {
			l = least64()
		}
		if h == nil || h.Cmp(most64()) > 0 {
			h = most64()
		}
		if low == nil || l.Cmp(low) < 0 {
			low = l
		}
		if high == nil || h.Cmp(high) > 0 {
			high = h
		}
	}
	return low, high, low != nil
}

// least64 returns the smallest 64-bit integer.
func least64() *big.Rat { return new(big.Rat).SetInt64(math.MinInt64) }

// most64 returns the largest 64-bit integer.
func most64() *big.Rat { return new(big.Rat).SetInt64(math.MaxInt64) }

// arithmetic translates a sum of strings, or a sum, difference or product of
// integers. CUE's integers are unbounded and CEL's overflow, so the result has
// expressions that tell when it would; see [operand]. For a + b with b >= 0 the
// result is above the range if a > max - b, and that difference can't overflow.
// The same holds for a - b and for products with a constant.
func (t *translator) arithmetic(x *ast.BinaryExpr) (operand, bool) {
	a, ok := t.value(x.X)
	if !ok || a.isLimited() {
		return operand{}, false
	}
	b, ok := t.value(x.Y)
	if !ok || b.isLimited() {
		return operand{}, false
	}
	if x.Op == token.ADD && shape.KindsOf(a.shape) == shape.StringKind && shape.KindsOf(b.shape) == shape.StringKind {
		return operand{text: a.text + " + " + b.text, shape: shape.OfKinds(shape.StringKind)}, true
	}
	al, ah, ok := within64(a.shape)
	if !ok {
		return operand{}, false
	}
	bl, bh, ok := within64(b.shape)
	if !ok {
		return operand{}, false
	}
	low, high, ok := reach(x.Op, al, ah, bl, bh)
	if !ok {
		return operand{}, false
	}
	out := operand{
		text:  cel.Wrap(a.text) + " " + x.Op.String() + " " + cel.Wrap(b.text),
		shape: shape.Shape{{Kind: shape.IntKind, Numbers: shape.Numbers{Min: &shape.Limit{At: low}, Max: &shape.Limit{At: high}}}},
	}
	above, below := high.Cmp(most64()) > 0, low.Cmp(least64()) < 0
	if !above && !below {
		return out, true
	}
	// If one operand is never negative, the overflow can be predicted without
	// leaving 64 bits.
	if x.Op == token.ADD && bl.Sign() < 0 || x.Op == token.MUL && al.Cmp(ah) == 0 {
		a, b, bl, bh = b, a, al, ah
	}
	switch {
	// The second operand may be negative, or both factors vary.
	case bl.Sign() < 0 || x.Op == token.MUL && bl.Cmp(bh) != 0:
		return operand{}, false
	case x.Op == token.ADD:
		out.above = a.text + " > 9223372036854775807 - " + cel.Wrap(b.text)
	case x.Op == token.SUB:
		out.below = a.text + " < -9223372036854775808 + " + cel.Wrap(b.text)
	case bl.Sign() == 0:
		return operand{}, false // the product is zero
	default:
		out.above = a.text + " > 9223372036854775807 / " + cel.Wrap(b.text)
		out.below = a.text + " < -9223372036854775808 / " + cel.Wrap(b.text)
	}
	if !above {
		out.above = ""
	}
	if !below {
		out.below = ""
	}
	return out, true
}

// reach returns the range of the results of op for numbers in two ranges. The
// extremes of sums, differences and products are at the ends of the ranges.
func reach(op token.Token, al, ah, bl, bh *big.Rat) (low, high *big.Rat, ok bool) {
	for _, p := range [][2]*big.Rat{{al, bl}, {al, bh}, {ah, bl}, {ah, bh}} {
		end := new(big.Rat)
		switch op {
		case token.ADD:
			end.Add(p[0], p[1])
		case token.SUB:
			end.Sub(p[0], p[1])
		case token.MUL:
			end.Mul(p[0], p[1])
		default:
			return nil, nil, false
		}
		if low == nil || end.Cmp(low) < 0 {
			low = end
		}
		if high == nil || end.Cmp(high) > 0 {
			high = end
		}
	}
	return low, high, true
}

// interpolation translates an interpolated string of strings and integers.
// "\(name)-\(index)" becomes self.name + '-' + string(self.index). Floats are
// left out, because CUE and CEL print them differently.
func (t *translator) interpolation(x *ast.Interpolation) (operand, bool) {
	var parts []string
	first, ok := x.Elts[0].(*ast.BasicLit)
	if !ok {
		return operand{}, false
	}
	last, ok := x.Elts[len(x.Elts)-1].(*ast.BasicLit)
	if !ok {
		return operand{}, false
	}
	quotes, _, _, err := cueliteral.ParseQuotes(first.Value, last.Value)
	if err != nil || !quotes.IsDouble() || quotes.IsMulti() {
		return operand{}, false
	}
	for i, e := range x.Elts {
		if i%2 == 1 {
			v, ok := t.value(e)
			rest, nullable := shape.WithoutNull(v.shape)
			switch kinds := shape.KindsOf(rest); {
			case !ok || nullable || v.isLimited():
				return operand{}, false
			case kinds == shape.StringKind:
				parts = append(parts, v.text)
			case kinds == shape.IntKind:
				parts = append(parts, "string("+v.text+")")
			default:
				return operand{}, false
			}
			continue
		}
		lit, ok := e.(*ast.BasicLit)
		if !ok {
			return operand{}, false
		}
		// The literals between the expressions still have the quotes and
		// parentheses.
		text := strings.TrimPrefix(strings.TrimSuffix(strings.TrimSuffix(lit.Value, `\(`), `"`), ")")
		if i == 0 {
			text = strings.TrimPrefix(text, `"`)
		}
		if strings.Contains(text, `\`) {
			return operand{}, false
		}
		if text != "" {
			parts = append(parts, cel.String(text))
		}
	}
	return operand{text: strings.Join(parts, " + "), shape: shape.OfKinds(shape.StringKind)}, len(parts) > 0
}
