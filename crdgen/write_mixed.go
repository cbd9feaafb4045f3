package crdgen

import (
	"maps"
	"slices"

	"github.com/pequod-io/pequod/internal/schema/shape"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// mixed writes a shape of several kinds that no type covers, such as a string or
// a list. A schema without a type lets everything in; but since a bound speaks
// about values of its own kind alone, one that nothing satisfies keeps its kind
// out, and those of the admitted kinds stand side by side.
func (w writer) mixed(out *props, s shape.Shape, p place) {
	yes := true
	out.XPreserveUnknownFields = &yes
	p.defaults, p.bare = false, true
	out.AllOf = append(out.AllOf, excluding(jsonKinds, shape.KindsOf(s))...)
	var lists, structs shape.Shape
	for _, t := range s {
		switch t.Kind {
		case shape.ListKind:
			lists = append(lists, t)
		case shape.StructKind:
			structs = append(structs, t)
		}
	}
	if len(lists) > 0 {
		var own props
		w.list(&own, lists, p)
		out.Items, out.MinItems, out.MaxItems = own.Items, own.MinItems, own.MaxItems
	}
	if len(structs) == 0 {
		return
	}
	var own props
	w.structs(&own, structs, p)
	out.Properties, out.Required, out.MinProperties, out.MaxProperties = own.Properties, own.Required, own.MinProperties, own.MaxProperties
	if len(own.AnyOf) > 0 {
		// What tells structs apart would keep other kinds out.
		w.notes.add(p.pos, p.path, "the choice between structs")
	}
	if own.AdditionalProperties != nil {
		w.notes.add(p.pos, p.path+".*", "what the fields of a struct hold")
	} else if own.XPreserveUnknownFields == nil && !closeWithoutType(out) {
		w.notes.add(p.pos, p.path, "that a struct has no other fields")
	}
}

// maxOptional bounds what closeWithoutType spells out.
const maxOptional = 3

// closeWithoutType closes the structs among values without a type, which a schema
// can do by no word: it counts. For each set of optional fields there may be as
// many fields as are in it, if these are there. It reports false where that would
// be too many sets.
func closeWithoutType(out *props) bool {
	var optional []string
	for _, name := range slices.Sorted(maps.Keys(out.Properties)) {
		if !slices.Contains(out.Required, name) {
			optional = append(optional, name)
		}
	}
	if len(optional) > maxOptional {
		return false
	}
	var members []props
	for set := range 1 << len(optional) {
		var there []string
		for i, name := range optional {
			if set>>i&1 == 1 {
				there = append(there, name)
			}
		}
		most := int64(len(out.Required) + len(there))
		members = append(members, props{Required: there, MaxProperties: &most})
	}
	if len(members) == 1 && out.MaxProperties == nil {
		out.MaxProperties = members[0].MaxProperties
		return true
	}
	conjoin(out, props{AnyOf: members})
	return true
}

// jsonKinds are the kinds of values besides null.
const jsonKinds = shape.BoolKind | shape.NumberKind | shape.StringKind | shape.ListKind | shape.StructKind

// excluding are constraints that keep out what is of the kinds in all and not of
// those in kept.
func excluding(all, kept shape.Kind) []props {
	var out []props
	for _, k := range []shape.Kind{shape.BoolKind, shape.NumberKind, shape.StringKind, shape.ListKind, shape.StructKind} {
		if all&k != 0 && kept&k == 0 {
			out = append(out, without(k))
		}
	}
	if all&shape.FloatKind != 0 && kept&shape.NumberKind == shape.IntKind {
		one := 1.0
		out = append(out, props{MultipleOf: &one})
	}
	return out
}

// without is a constraint that no value of the kind satisfies and that leaves
// all others alone.
func without(k shape.Kind) props {
	zero, one := int64(0), int64(1)
	switch k {
	case shape.BoolKind:
		return props{Not: &props{Enum: []apiextensionsv1.JSON{{Raw: []byte("true")}, {Raw: []byte("false")}}}}
	case shape.NumberKind:
		least, most := 1.0, 0.0
		return props{Minimum: &least, Maximum: &most}
	case shape.StringKind:
		return props{MinLength: &one, MaxLength: &zero}
	case shape.ListKind:
		return props{MinItems: &one, MaxItems: &zero}
	}
	return props{MinProperties: &one, MaxProperties: &zero}
}
