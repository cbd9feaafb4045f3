package crdgen

import (
	"reflect"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/pequod-io/pequod/internal/schema/shape"
)

// props is one OpenAPI schema.
type props = apiextensionsv1.JSONSchemaProps

// isEmpty reports whether p has no constraint.
func isEmpty(p props) bool { return reflect.DeepEqual(p, props{}) }

// conjoin adds the constraints of c to out: directly if out has none of the same
// keyword, and as a member of allOf otherwise. A schema has each keyword once, so
// two patterns need an allOf. An exclusive limit stays with the limit that it is
// about.
func conjoin(out *props, c props) {
	out.ExclusiveMinimum = out.ExclusiveMinimum || c.ExclusiveMinimum && out.Minimum == nil
	out.ExclusiveMaximum = out.ExclusiveMaximum || c.ExclusiveMaximum && out.Maximum == nil
	c.ExclusiveMinimum = c.ExclusiveMinimum && out.Minimum != nil
	c.ExclusiveMaximum = c.ExclusiveMaximum && out.Maximum != nil
	out.AllOf = append(out.AllOf, c.AllOf...)
	c.AllOf = nil
	// What out takes is removed from c, and the rest becomes a member of allOf.
	all, rest := reflect.ValueOf(out).Elem(), reflect.ValueOf(&c).Elem()
	for i := range rest.NumField() {
		if keyword := all.Field(i); keyword.IsZero() && keyword.Kind() != reflect.Bool {
			keyword.Set(rest.Field(i))
			rest.Field(i).SetZero()
		}
	}
	if !isEmpty(c) {
		out.AllOf = append(out.AllOf, c)
	}
}

// jsonKinds are the kinds of values except null. null is left out, because
// nullable decides about it.
const jsonKinds = shape.BoolKind | shape.NumberKind | shape.StringKind | shape.ListKind | shape.StructKind

// excluding returns constraints that exclude values of the kinds in all that are
// not in kept. A multiple of 1 excludes the numbers that are no integers.
func excluding(all, kept shape.Kind) []props {
	var out []props
	for _, k := range shape.JSONKinds() {
		if all&k != 0 && kept&k == 0 {
			out = append(out, without(k))
		}
	}
	if all&shape.FloatKind != 0 && kept&shape.NumberKind == shape.IntKind {
		out = append(out, props{MultipleOf: new(1.0)})
	}
	return out
}

// onlyOf returns constraints that exclude values of all kinds but those in kept. The
// API server's messages about bounds and negations would mislead or say nothing, so
// an enum comes first that no value needs to meet: its values name the kinds, and the
// API server lists them.
func onlyOf(kept shape.Kind, nullable bool) props {
	if nullable {
		// null satisfies all bounds, so the negation would exclude it.
		return props{AllOf: excluding(jsonKinds, kept)}
	}
	var words []apiextensionsv1.JSON
	var none, out props
	for _, k := range shape.JSONKinds() {
		if kept&k != 0 {
			conjoin(&none, without(k))
			words = append(words, apiextensionsv1.JSON{Raw: []byte(strconv.Quote(kindText(k & kept)))})
		}
	}
	out.AnyOf = []props{{Enum: words}, {Not: &none}}
	if kept&shape.StringKind == 0 {
		out.Not = &props{Enum: words}
	}
	if kept&shape.NumberKind == shape.IntKind {
		out.MultipleOf = new(1.0)
	}
	return out
}

// kindText describes the values of kind k for a message.
func kindText(k shape.Kind) string {
	switch k {
	case shape.BoolKind:
		return "true or false"
	case shape.IntKind:
		return "any integer"
	case shape.StringKind:
		return "any string"
	case shape.ListKind:
		return "a list"
	case shape.StructKind:
		return "an object"
	}
	return "any number"
}

// without returns a constraint that no value of kind k satisfies and that
// ignores all other values.
func without(k shape.Kind) props {
	switch k {
	case shape.BoolKind:
		return props{Not: &props{Enum: []apiextensionsv1.JSON{{Raw: []byte("true")}, {Raw: []byte("false")}}}}
	case shape.NumberKind:
		return props{Minimum: new(1.0), Maximum: new(0.0)}
	case shape.StringKind:
		return props{MinLength: new(int64(1)), MaxLength: new(int64(0))}
	case shape.ListKind:
		return props{MinItems: new(int64(1)), MaxItems: new(int64(0))}
	}
	return props{MinProperties: new(int64(1)), MaxProperties: new(int64(0))}
}
