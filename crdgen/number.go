package crdgen

import (
	"math"
	"math/big"
	"slices"
)

// numbers constrains numbers.
type numbers struct {
	min, max *limit
	// multiples are numbers of which the value is a multiple.
	multiples []*big.Rat
	// not are values that are not admitted.
	not []literal
}

// limit is one end of a range of numbers.
type limit struct {
	at        *big.Rat
	exclusive bool
}

// meet reports false if the range is empty.
func (n numbers) meet(m numbers) (numbers, bool) {
	out := numbers{min: tighter(n.min, m.min, 1), max: tighter(n.max, m.max, -1)}
	out.multiples = append(slices.Clone(n.multiples), m.multiples...)
	out.not = append(slices.Clone(n.not), m.not...)
	return out, !out.empty()
}

func (n numbers) empty() bool {
	if n.min == nil || n.max == nil {
		return false
	}
	c := n.min.at.Cmp(n.max.at)
	return c > 0 || c == 0 && (n.min.exclusive || n.max.exclusive)
}

// tighter is the one of two limits that admits less; sign is 1 for lower and -1
// for upper limits.
func tighter(a, b *limit, sign int) *limit {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	switch c := a.at.Cmp(b.at) * sign; {
	case c > 0 || c == 0 && a.exclusive:
		return a
	default:
		return b
	}
}

// admits is true for what is not a number.
func (n numbers) admits(l literal) bool {
	if l.number == nil {
		return true
	}
	point := &limit{at: l.number}
	if (numbers{min: n.min, max: point}).empty() || (numbers{min: point, max: n.max}).empty() {
		return false
	}
	for _, m := range n.multiples {
		if m.Sign() != 0 && !new(big.Rat).Quo(l.number, m).IsInt() {
			return false
		}
	}
	return !slices.ContainsFunc(n.not, l.equal)
}

// float is the limit as schemas write it. Documents round to float64 in the
// same way, so that no value changes sides.
func (l *limit) float() float64 {
	at, _ := l.at.Float64()
	return at
}

// maxSafe is the largest integer that the API server takes for the bound of an
// integer: with a larger one it rejects all values.
const maxSafe = 1<<53 - 1

// isSafe says whether the API server can compare integers with l.
func (l *limit) isSafe() bool {
	return new(big.Rat).Abs(l.at).Cmp(new(big.Rat).SetInt64(maxSafe)) <= 0
}

// isEndless says whether every number of a document meets l, the upper or lower
// limit: the API server has no other floats.
func (l *limit) isEndless(upper bool) bool {
	at := l.float()
	return upper && at >= math.MaxFloat64 || !upper && at <= -math.MaxFloat64
}

// isImplied says whether every int64 meets l, the upper or lower limit: the API
// server has no other integers.
func (l *limit) isImplied(upper bool) bool {
	if upper {
		return l.at.Cmp(new(big.Rat).SetInt64(math.MaxInt64)) >= 0
	}
	return l.at.Cmp(new(big.Rat).SetInt64(math.MinInt64)) <= 0
}
