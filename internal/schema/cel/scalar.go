package cel

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/pequod-io/pequod/internal/schema/shape"
)

// celType returns the CEL name of the type of a kind.
func celType(group shape.Kind) string {
	switch group {
	case shape.BoolKind:
		return "bool"
	case shape.NumberKind:
		return "int"
	}
	return "string"
}

// holdsNumber returns the predicate for the number v. Float reports whether the
// schema declares v as a number rather than an integer. Integers are compared
// exactly, other numbers in 64 bits, as the API server stores them.
func holdsNumber(t shape.Term, float bool, v string) Predicate {
	var all []Predicate
	add := func(operator string, at *big.Rat) {
		if text, ok := Number(at, float); ok {
			all = append(all, Predicate{Text: v + operator + text, Exact: true})
			return
		}
		all = append(all, Unknown())
	}
	switch {
	case t.Value != nil && !float && !t.Value.Number.IsInt():
		return Never()
	case t.Value != nil:
		add(" == ", t.Value.Number)
		return AllOf(all...)
	case float && t.Kind == shape.IntKind:
		all = append(all, Unknown()) // CEL can't tell which numbers are integers
	}
	for _, upper := range []bool{false, true} {
		l, operator := t.Numbers.Min, " >"
		if upper {
			l, operator = t.Numbers.Max, " <"
		}
		switch {
		case l == nil || !float && l.AdmitsAllInts(upper):
			continue
		case !l.Exclusive:
			operator += "= "
		default:
			operator += " "
		}
		add(operator, l.At)
	}
	for _, m := range t.Numbers.Multiples {
		all = append(all, isMultipleOf(v, m, float))
	}
	for _, l := range t.Numbers.Not {
		// Every integer differs from a fraction.
		if !float && !l.Number.IsInt() {
			continue
		}
		add(" != ", l.Number)
	}
	return AllOf(all...)
}

// isMultipleOf returns the predicate that the number v is a multiple of m. CEL
// has no remainder for floats. But if v is the float nearest to k·p/q, with small
// integers p and q, computing k·p/q gives v again. Floats beyond 1e9 pass
// untested: v·q could exceed 2^53, above which not every integer is a float. So
// the predicate is not exact.
func isMultipleOf(v string, m *big.Rat, float bool) Predicate {
	p, q := m.Num(), m.Denom()
	const small = 1 << 20
	switch {
	case !float && p.IsInt64():
		// In lowest terms, an integer times q is a multiple of p if the integer
		// itself is one.
		return Predicate{Text: v + " % " + p.String() + " == 0", Exact: true}
	case !float || p.Cmp(big.NewInt(small)) > 0 || q.Cmp(big.NewInt(small)) > 0:
		return Unknown()
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
	return Predicate{Text: v + " < -1e9 || " + v + " > 1e9 || " + scaled(k, p, q) + " == " + v}
}

// Number writes a number as CEL. It reports false if CEL can't represent it.
func Number(at *big.Rat, float bool) (string, bool) {
	if !float {
		return at.RatString(), at.IsInt() && at.Num().IsInt64()
	}
	f, exact := at.Float64()
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	// Documents are rounded in the same way, so that no value moves across the
	// limit.
	return text, exact || !strings.Contains(text, "Inf")
}

// holdsString returns the predicate for the string v. Sizes are in code points,
// as in CUE's strings.MinRunes.
func holdsString(t shape.Term, v string) Predicate {
	var all []Predicate
	add := func(text string) { all = append(all, Predicate{Text: text, Exact: true}) }
	if t.Value != nil {
		add(v + " == " + String(*t.Value.String))
		return AllOf(all...)
	}
	if t.Strings.Min != nil {
		add("size(" + v + ") >= " + Itoa(*t.Strings.Min))
	}
	if t.Strings.Max != nil {
		add("size(" + v + ") <= " + Itoa(*t.Strings.Max))
	}
	for _, p := range t.Strings.Patterns {
		add(v + ".matches(" + String(p) + ")")
	}
	for _, p := range t.Strings.NotPatterns {
		add("!" + v + ".matches(" + String(p) + ")")
	}
	for _, l := range t.Strings.Not {
		add(v + " != " + String(*l.String))
	}
	for _, f := range t.Strings.Formats {
		all = append(all, holdsFormat(f, v))
	}
	return AllOf(all...)
}

// String writes a string as CEL, with the quotes that need the fewest escapes. A
// pattern such as ^\d+$ becomes r'^\d+$'.
func String(s string) string {
	plain := !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == '\'' || r == 0x7f || r == 0xfffd })
	switch {
	case plain && !strings.Contains(s, `\`):
		return "'" + s + "'"
	case plain:
		return "r'" + s + "'"
	}
	return strconv.Quote(s)
}
