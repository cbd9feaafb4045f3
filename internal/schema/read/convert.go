package read

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/schema/shape"
)

// kindsFrom converts CUE's kinds. Several bits may be set; CUE's kinds are sets,
// too.
func kindsFrom(kinds cue.Kind) shape.Kind {
	if kinds == cue.TopKind {
		return shape.TopKind
	}
	out := shape.BottomKind
	for _, k := range []struct {
		cue  cue.Kind
		kind shape.Kind
	}{
		{cue.NullKind, shape.NullKind}, {cue.BoolKind, shape.BoolKind}, {cue.IntKind, shape.IntKind}, {cue.FloatKind, shape.FloatKind}, {cue.StringKind, shape.StringKind},
		{cue.BytesKind, shape.BytesKind}, {cue.ListKind, shape.ListKind}, {cue.StructKind, shape.StructKind},
	} {
		if kinds&k.cue != 0 {
			out |= k.kind
		}
	}
	return out
}

// kindsOfValue returns the kinds that v may have. It is [shape.BottomKind] for an
// error.
func kindsOfValue(v interface{ IncompleteKind() cue.Kind }) shape.Kind {
	return kindsFrom(v.IncompleteKind())
}

// positionOf converts CUE's positions. The position of an invalid p has no file.
// Notes and errors are then without a position.
func positionOf(p token.Pos) problem.Position {
	at := p.Position()
	return problem.Position{File: at.Filename, Line: at.Line, Column: at.Column}
}

// literalOf returns the concrete scalar v. It reports false for values that JSON
// can't represent and for numbers that are too large to compute with. JSON holds
// the text, and Number or String the value if it has that type.
func literalOf(v cue.Value) (shape.Literal, bool) {
	switch v.Kind() {
	case cue.NullKind, cue.BoolKind, cue.StringKind, cue.IntKind, cue.FloatKind:
	default:
		return shape.Literal{}, false
	}
	data, err := v.MarshalJSON()
	if err != nil {
		return shape.Literal{}, false
	}
	l := shape.Literal{JSON: data}
	switch v.Kind() {
	case cue.IntKind, cue.FloatKind:
		l.Number = rational(v)
		return l, l.Number != nil
	case cue.StringKind:
		var s string
		// JSON was just written by CUE, so this can't fail in practice.
		if json.Unmarshal(data, &s) != nil {
			return shape.Literal{}, false
		}
		l.String = &s
	}
	return l, true
}

// maxExponent bounds the exponents of numbers that are computed with. It is far
// beyond that of any float64; the exact value of 1e999999999 would fill the
// memory.
const maxExponent = 400

// rational returns the exact value of the concrete number v, or nil if it is out
// of bounds. CUE's numbers are decimals of any size, so a fraction is needed to
// hold them.
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

// literalShape returns the shape of the concrete scalar v; see [literalOf].
// Floats and integers are compared as numbers.
func literalShape(v cue.Value) (shape.Shape, bool) {
	l, ok := literalOf(v)
	kind := kindsFrom(v.Kind())
	if kind == shape.FloatKind {
		kind = shape.NumberKind
	}
	return shape.Shape{{Kind: kind, Value: &l}}, ok
}

// callee returns the name of the builtin that an expression with these arguments
// calls, such as "strings.MinRunes". The first argument is the builtin itself, as
// cue.Value.Expr returns it.
func callee(args []cue.Value) string {
	if len(args) == 0 || !args[0].Exists() {
		return ""
	}
	return strings.TrimSuffix(sourceText(args[0]), "()")
}

// sourceText returns v in CUE syntax, on one line. It is for messages, and for
// the names of builtins.
func sourceText(v cue.Value) string {
	return strings.Join(strings.Fields(fmt.Sprint(v)), " ")
}

// description returns the doc comments of v, joined. A value without any has
// those of the value that it refers to. Several conjuncts may have the same
// comment, which is kept once.
func description(v cue.Value) string {
	var parts []string
	seen := map[string]bool{}
	for _, group := range v.Doc() {
		text := strings.TrimSpace(group.Text())
		if text != "" && !seen[text] {
			seen[text] = true
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 {
		if d := cue.Dereference(v); d != v {
			return description(d)
		}
	}
	return strings.Join(parts, "\n\n")
}
