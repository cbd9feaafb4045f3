package crdgen

import (
	"bytes"
	"encoding/json"
	"math/big"

	"cuelang.org/go/cue"
)

// literal is one scalar value.
type literal struct {
	json []byte
	// number and string hold the value of a number and of a string.
	number *big.Rat
	string *string
}

func (l literal) equal(m literal) bool {
	if l.number != nil && m.number != nil {
		return l.number.Cmp(m.number) == 0
	}
	return bytes.Equal(l.json, m.json)
}

// literalOf is the concrete scalar v. It reports false for values that JSON
// can't hold or that are too large to compute with.
func literalOf(v cue.Value) (literal, bool) {
	switch v.Kind() {
	case cue.NullKind, cue.BoolKind, cue.StringKind, cue.IntKind, cue.FloatKind:
	default:
		return literal{}, false
	}
	data, err := v.MarshalJSON()
	if err != nil {
		return literal{}, false
	}
	l := literal{json: data}
	switch v.Kind() {
	case cue.IntKind, cue.FloatKind:
		l.number = rational(v)
		return l, l.number != nil
	case cue.StringKind:
		var s string
		if json.Unmarshal(data, &s) != nil {
			return literal{}, false
		}
		l.string = &s
	}
	return l, true
}

// maxExponent bounds the numbers that are computed with, far beyond what a
// float64 holds: the exact value of 1e999999999 would fill the memory.
const maxExponent = 400

// rational is the exact value of the concrete number v, or nil if it is absurdly
// large or small.
func rational(v cue.Value) *big.Rat {
	var mantissa big.Int
	exponent, err := v.MantExp(&mantissa)
	if err != nil || exponent > maxExponent || exponent < -maxExponent || mantissa.BitLen() > 8*maxExponent {
		return nil
	}
	out := new(big.Rat).SetInt(&mantissa)
	power := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(exponent, -exponent))), nil))
	if exponent < 0 {
		return out.Quo(out, power)
	}
	return out.Mul(out, power)
}
