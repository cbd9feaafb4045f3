package crdgen

import (
	"math/big"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	cueliteral "cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"
)

// interval is the range of the numbers that t admits; nil is without end.
func (t term) interval() (low, high *big.Rat) {
	if t.value != nil {
		return t.value.number, t.value.number
	}
	if t.num.min != nil {
		low = t.num.min.at
	}
	if t.num.max != nil {
		high = t.num.max.at
	}
	return low, high
}

// intervalOf is the range of the integers in s. It reports false where there is
// no end, or anything but integers.
func intervalOf(s shape) (low, high *big.Rat, ok bool) {
	for _, t := range s {
		l, h := t.interval()
		if t.kind != cue.IntKind || l == nil || h == nil {
			return nil, nil, false
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

// arithmetic is a sum, a difference or a product of integers. CUE's integers have
// no end and CEL's do, so the operands must have bounds that keep the result in
// 64 bits.
func (t *translator) arithmetic(x *ast.BinaryExpr) (operand, bool) {
	a, ok := t.value(x.X)
	if !ok {
		return operand{}, false
	}
	b, ok := t.value(x.Y)
	if !ok {
		return operand{}, false
	}
	al, ah, ok := intervalOf(a.shape)
	if !ok {
		return operand{}, false
	}
	bl, bh, ok := intervalOf(b.shape)
	if !ok {
		return operand{}, false
	}
	var ends []*big.Rat
	for _, p := range [][2]*big.Rat{{al, bl}, {al, bh}, {ah, bl}, {ah, bh}} {
		end := new(big.Rat)
		switch x.Op {
		case token.ADD:
			end.Add(p[0], p[1])
		case token.SUB:
			end.Sub(p[0], p[1])
		case token.MUL:
			end.Mul(p[0], p[1])
		default:
			return operand{}, false
		}
		ends = append(ends, end)
	}
	out := term{kind: cue.IntKind, num: numbers{min: &limit{at: ends[0]}, max: &limit{at: ends[0]}}}
	for _, end := range ends {
		if !(&limit{at: end}).isSafe() {
			return operand{}, false
		}
		if end.Cmp(out.num.min.at) < 0 {
			out.num.min = &limit{at: end}
		}
		if end.Cmp(out.num.max.at) > 0 {
			out.num.max = &limit{at: end}
		}
	}
	return operand{text: wrap(a.text) + " " + x.Op.String() + " " + wrap(b.text), shape: shape{out}}, true
}

// interpolation is a string made of strings and integers.
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
			rest, nullable := withoutNull(v.shape)
			switch kinds := kindsOf(rest); {
			case !ok || nullable:
				return operand{}, false
			case kinds == cue.StringKind:
				parts = append(parts, v.text)
			case kinds == cue.IntKind:
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
		text := strings.TrimPrefix(strings.TrimSuffix(strings.TrimSuffix(lit.Value, `\(`), `"`), ")")
		if i == 0 {
			text = strings.TrimPrefix(text, `"`)
		}
		if strings.Contains(text, `\`) {
			return operand{}, false
		}
		if text != "" {
			parts = append(parts, celString(text))
		}
	}
	return operand{text: strings.Join(parts, " + "), shape: ofKinds(cue.StringKind)}, len(parts) > 0
}
