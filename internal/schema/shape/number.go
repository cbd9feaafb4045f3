package shape

import (
	"math"
	"math/big"
	"slices"
)

// Numbers constrains numbers. The zero value admits every number.
type Numbers struct {
	// Min and Max are the ends of the range; nil means that it has no end.
	Min, Max *Limit
	// Multiples are divisors: every admitted value is a multiple of each of them.
	Multiples []*big.Rat
	// Not are values that are not admitted.
	Not []Literal
}

// Limit is one end of a range of numbers.
type Limit struct {
	// At is exact: bounds beyond 2^53 must not be rounded before they are
	// compared. Exclusive means that At itself is outside the range.
	At        *big.Rat
	Exclusive bool
}

// meet returns the intersection. It reports false if the range is empty.
func (n Numbers) meet(m Numbers) (Numbers, bool) {
	out := Numbers{Min: tighter(n.Min, m.Min, 1), Max: tighter(n.Max, m.Max, -1)}
	out.Multiples = append(slices.Clone(n.Multiples), m.Multiples...)
	out.Not = append(slices.Clone(n.Not), m.Not...)
	return out, !out.empty()
}

// empty reports whether no number is between Min and Max.
func (n Numbers) empty() bool {
	if n.Min == nil || n.Max == nil {
		return false
	}
	c := n.Min.At.Cmp(n.Max.At)
	return c > 0 || c == 0 && (n.Min.Exclusive || n.Max.Exclusive)
}

// tighter returns the one of two limits that admits less. Sign is 1 for lower
// and -1 for upper limits.
func tighter(a, b *Limit, sign int) *Limit {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	switch c := a.At.Cmp(b.At) * sign; {
	case c > 0 || c == 0 && a.Exclusive:
		return a
	default:
		return b
	}
}

// Admits reports whether l satisfies n. It is true for values that aren't
// numbers.
func (n Numbers) Admits(l Literal) bool {
	if l.Number == nil {
		return true
	}
	point := &Limit{At: l.Number}
	if (Numbers{Min: n.Min, Max: point}).empty() || (Numbers{Min: point, Max: n.Max}).empty() {
		return false
	}
	for _, m := range n.Multiples {
		if m.Sign() != 0 && !new(big.Rat).Quo(l.Number, m).IsInt() {
			return false
		}
	}
	return !slices.ContainsFunc(n.Not, l.equal)
}

// Float returns the limit as schemas write it. Documents round to float64 in
// the same way, so that no value moves to the other side of the limit.
func (l *Limit) Float() float64 {
	at, _ := l.At.Float64()
	return at
}

// maxSafe is the largest integer that an API server accepts as a bound of an
// integer. With a larger one it rejects all values.
const maxSafe = 1<<53 - 1

// IsSafe reports whether an API server can compare integers with l.
func (l *Limit) IsSafe() bool {
	return new(big.Rat).Abs(l.At).Cmp(new(big.Rat).SetInt64(maxSafe)) <= 0
}

// AdmitsAllFloats reports whether every float64 meets l, which is an upper or a
// lower limit. An API server has no larger floats.
func (l *Limit) AdmitsAllFloats(upper bool) bool {
	at := l.Float()
	return upper && at >= math.MaxFloat64 || !upper && at <= -math.MaxFloat64
}

// AdmitsAllInts reports whether every int64 meets l, which is an upper or a
// lower limit. An API server has no larger integers.
func (l *Limit) AdmitsAllInts(upper bool) bool {
	if upper {
		return l.At.Cmp(new(big.Rat).SetInt64(math.MaxInt64)) >= 0
	}
	return l.At.Cmp(new(big.Rat).SetInt64(math.MinInt64)) <= 0
}

// larger and smaller return the tighter of two lower or upper bounds; nil means
// no bound.
func larger(a, b *int64) *int64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

func smaller(a, b *int64) *int64 {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}
