package shape

import (
	"math"
	"math/big"
	"slices"
)

// numbers constrains numbers.
type Numbers struct {
	Min, Max *Limit
	// multiples are numbers of which the value is a multiple.
	Multiples []*big.Rat
	// not are values that are not admitted.
	Not []Literal
}

// limit is one end of a range of numbers.
type Limit struct {
	At        *big.Rat
	Exclusive bool
}

// meet reports false if the range is empty.
func (n Numbers) meet(m Numbers) (Numbers, bool) {
	out := Numbers{Min: tighter(n.Min, m.Min, 1), Max: tighter(n.Max, m.Max, -1)}
	out.Multiples = append(slices.Clone(n.Multiples), m.Multiples...)
	out.Not = append(slices.Clone(n.Not), m.Not...)
	return out, !out.empty()
}

func (n Numbers) empty() bool {
	if n.Min == nil || n.Max == nil {
		return false
	}
	c := n.Min.At.Cmp(n.Max.At)
	return c > 0 || c == 0 && (n.Min.Exclusive || n.Max.Exclusive)
}

// tighter is the one of two limits that admits less; sign is 1 for lower and -1
// for upper limits.
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

// admits is true for what is not a number.
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

// float is the limit as schemas write it. Documents round to float64 in the
// same way, so that no value changes sides.
func (l *Limit) Float() float64 {
	at, _ := l.At.Float64()
	return at
}

// maxSafe is the largest integer that the API server takes for the bound of an
// integer: with a larger one it rejects all values.
const maxSafe = 1<<53 - 1

// isSafe says whether the API server can compare integers with l.
func (l *Limit) IsSafe() bool {
	return new(big.Rat).Abs(l.At).Cmp(new(big.Rat).SetInt64(maxSafe)) <= 0
}

// isEndless says whether every number of a document meets l, the upper or lower
// limit: the API server has no other floats.
func (l *Limit) AdmitsAllFloats(upper bool) bool {
	at := l.Float()
	return upper && at >= math.MaxFloat64 || !upper && at <= -math.MaxFloat64
}

// isImplied says whether every int64 meets l, the upper or lower limit: the API
// server has no other integers.
func (l *Limit) AdmitsAllInts(upper bool) bool {
	if upper {
		return l.At.Cmp(new(big.Rat).SetInt64(math.MaxInt64)) >= 0
	}
	return l.At.Cmp(new(big.Rat).SetInt64(math.MinInt64)) <= 0
}

// interval is the range of the numbers that t admits; nil is without end.
func (t Term) Interval() (low, high *big.Rat) {
	if t.Value != nil {
		return t.Value.Number, t.Value.Number
	}
	if t.Numbers.Min != nil {
		low = t.Numbers.Min.At
	}
	if t.Numbers.Max != nil {
		high = t.Numbers.Max.At
	}
	return low, high
}
