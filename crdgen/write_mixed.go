package crdgen

import (
	"maps"
	"slices"

	"github.com/pequod-io/pequod/internal/schema/shape"
)

// mixed writes a shape of several kinds that no type covers, such as a string or
// a list. A schema without a type admits every value. But a bound applies to
// values of its own kind only, so an unsatisfiable bound excludes exactly one
// kind, and the constraints of the admitted kinds don't interfere. For string |
// {name: string} it writes properties and required as for the struct, and
// excludes everything that is neither string nor struct:
//
//	not: {minLength: 1, maxLength: 0, minProperties: 1, maxProperties: 0}
func (w writer) mixed(out *props, s shape.Shape, p location) {
	out.XPreserveUnknownFields = new(true)
	p.defaults, p.bare = false, true
	conjoin(out, onlyOf(shape.KindsOf(s), out.Nullable))
	lists, structs := s.Only(shape.ListKind), s.Only(shape.StructKind)
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
		// anyOf distinguishes structs by their fields, which would exclude
		// other kinds.
		w.notes.add(p.pos, p.path, "the choice between structs")
	}
	if own.AdditionalProperties != nil {
		w.notes.add(p.pos, p.path+".*", "what the fields of a struct hold")
	} else if own.XPreserveUnknownFields == nil && !closeWithoutType(out) {
		w.notes.add(p.pos, p.path, "that a struct has no other fields")
	}
}

// maxOptional bounds the optional fields in [closeWithoutType], which writes an
// alternative for each subset of them. Three optional fields make eight
// alternatives.
const maxOptional = 3

// closeWithoutType closes the structs of a schema without a type. There is no
// keyword for that, so it counts: for each subset of the optional fields, a
// struct that has these fields may have no more fields than them and the required
// ones. It reports false if there would be too many subsets. For the required
// field a and the optional field b the alternatives are maxProperties 1, and b
// required with maxProperties 2.
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
		members = append(members, props{Required: there, MaxProperties: new(int64(len(out.Required) + len(there)))})
	}
	if len(members) == 1 && out.MaxProperties == nil {
		out.MaxProperties = members[0].MaxProperties
		return true
	}
	conjoin(out, props{AnyOf: members})
	return true
}
