package crdgen

import (
	"math/big"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
)

func celType(group cue.Kind) string {
	switch group {
	case cue.BoolKind:
		return "bool"
	case cue.NumberKind:
		return "int"
	}
	return "string"
}

// holdsNumber compares integers exactly, and other numbers as the server has
// them, which is in 64 bits.
func (t term) holdsNumber(float bool, v string) predicate {
	var all []predicate
	add := func(operator string, at *big.Rat) {
		if text, ok := celNumber(at, float); ok {
			all = append(all, predicate{text: v + operator + text, exact: true})
			return
		}
		all = append(all, unknown())
	}
	switch {
	case t.value != nil && !float && !t.value.number.IsInt():
		return never()
	case t.value != nil:
		add(" == ", t.value.number)
		return allOf(all...)
	case float && t.kind == cue.IntKind:
		all = append(all, unknown()) // which numbers are ints
	}
	for _, upper := range []bool{false, true} {
		l, operator := t.num.min, " >"
		if upper {
			l, operator = t.num.max, " <"
		}
		switch {
		case l == nil || !float && l.isImplied(upper):
			continue
		case !l.exclusive:
			operator += "= "
		default:
			operator += " "
		}
		at := l.at
		if !float && !at.IsInt() {
			at, operator = toInt(at, upper), strings.TrimRight(operator, " =")+"= "
		}
		add(operator, at)
	}
	for _, m := range t.num.multiples {
		all = append(all, isMultipleOf(v, m, float))
	}
	for _, l := range t.num.not {
		if !float && !l.number.IsInt() {
			continue
		}
		add(" != ", l.number)
	}
	return allOf(all...)
}

// isMultipleOf is the predicate that the number v is a multiple of m. CEL has no
// remainder of floats. But where a float is the one that is nearest to k times p/q,
// with small integers p and q, it is what k·p/q rounds to.
func isMultipleOf(v string, m *big.Rat, float bool) predicate {
	p, q := m.Num(), m.Denom()
	const small = 1 << 20
	switch {
	case !float && p.IsInt64():
		// In lowest terms, an integer times q is a multiple of p if it is one itself.
		return predicate{text: v + " % " + p.String() + " == 0", exact: true}
	case !float || p.Cmp(big.NewInt(small)) > 0 || q.Cmp(big.NewInt(small)) > 0:
		return unknown()
	}
	scaled := func(text string, up, down *big.Int) string {
		if up.Cmp(big.NewInt(1)) != 0 {
			text += " * " + up.String() + ".0"
		}
		if down.Cmp(big.NewInt(1)) != 0 {
			text += " / " + down.String() + ".0"
		}
		return text
	}
	k := "double(int(" + scaled(v, q, p) + " + (" + v + " < 0.0 ? -0.5 : 0.5)))"
	return predicate{text: v + " < -1e9 || " + v + " > 1e9 || " + scaled(k, p, q) + " == " + v}
}

// toInt is the nearest integer on the inside of a limit that isn't one.
func toInt(at *big.Rat, upper bool) *big.Rat {
	q := new(big.Int).Div(at.Num(), at.Denom()) // rounds down: the denominator is positive
	if !upper {
		q.Add(q, big.NewInt(1))
	}
	return new(big.Rat).SetInt(q)
}

// celNumber writes a number; it reports false for one that CEL can't hold.
func celNumber(at *big.Rat, float bool) (string, bool) {
	if !float {
		return at.RatString(), at.IsInt() && at.Num().IsInt64()
	}
	f, exact := at.Float64()
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	// Documents are rounded in the same way, so that no value changes sides.
	return text, exact || !strings.Contains(text, "Inf")
}

func (t term) holdsString(v string) predicate {
	var all []predicate
	add := func(text string) { all = append(all, predicate{text: text, exact: true}) }
	if t.value != nil {
		add(v + " == " + celString(*t.value.string))
		return allOf(all...)
	}
	if t.str.min != nil {
		add("size(" + v + ") >= " + itoa(*t.str.min))
	}
	if t.str.max != nil {
		add("size(" + v + ") <= " + itoa(*t.str.max))
	}
	for _, p := range t.str.patterns {
		add(v + ".matches(" + celString(p) + ")")
	}
	for _, p := range t.str.notPatterns {
		add("!" + v + ".matches(" + celString(p) + ")")
	}
	for _, l := range t.str.not {
		add(v + " != " + celString(*l.string))
	}
	for _, f := range t.str.formats {
		all = append(all, f.holds(v))
	}
	return allOf(all...)
}

// celString writes a string in the quotes that leave it readable.
func celString(s string) string {
	plain := !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == '\'' || r == 0x7f || r == 0xfffd })
	switch {
	case plain && !strings.Contains(s, `\`):
		return "'" + s + "'"
	case plain:
		return "r'" + s + "'"
	}
	return strconv.Quote(s)
}
