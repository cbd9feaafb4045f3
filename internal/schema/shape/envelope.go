package shape

import "slices"

// ObjectEnvelope returns the smallest object that admits every struct in s,
// which must hold structs only: it has the fields of all members, and each
// field admits what it admits in any member. An OpenAPI schema declares it for
// a choice between structs. The bool reports whether the members agree about
// the fields that they don't list.
func ObjectEnvelope(s Shape) (*Object, bool) {
	sum := &Object{}
	alike := true
	first := s[0].Object
	for _, t := range s {
		o := t.Object
		sum.Open = sum.Open || o.Open
		sum.Values = Merge(sum.Values, o.Values)
		alike = alike && len(o.Rules) == 0 && len(o.Patterns) == 0 && o.Open == first.Open && o.Values.Equal(first.Values) && o.Min == nil && o.Max == nil
		for _, f := range o.Fields {
			if i, found := slices.BinarySearchFunc(sum.Fields, f.Name, ByName); !found {
				sum.Fields = slices.Insert(sum.Fields, i, Field{Name: f.Name, Required: true, Optional: true, Pos: f.Pos})
			}
		}
	}
	for i := range sum.Fields {
		g := &sum.Fields[i]
		for _, t := range s {
			f := t.Object.Lookup(g.Name)
			switch {
			case f != nil:
				g.Shape = Merge(g.Shape, f.Shape)
				g.Required = g.Required && f.Required
				g.Optional = g.Optional && (f.Optional || f.Required)
				if g.Description == "" {
					g.Description = f.Description
				}
				if g.Attributes == nil {
					g.Attributes = f.Attributes
				}
				continue
			case t.Object.Open:
				g.Shape = Any()
			default:
				g.Shape = Merge(g.Shape, t.Object.Values)
			}
			g.Required = false
		}
	}
	return sum, alike
}

// DeclaredObject returns the object that an OpenAPI schema declares for s,
// which must hold structs only.
func DeclaredObject(s Shape) *Object {
	if len(s) == 1 {
		return s[0].Object
	}
	sum, _ := ObjectEnvelope(s)
	return sum
}

// ListEnvelope holds all that an OpenAPI schema can declare for lists: one schema for
// all items, and how many items there are.
type ListEnvelope struct {
	// Items admits every item of every list.
	Items Shape
	// Min and Max bound the number of items; nil means no bound.
	Min, Max *int64
	// Alike reports whether all lists admit the same items at every index, so
	// that Items loses nothing.
	Alike bool
}

// EnvelopeOfLists returns the envelope of s, which must hold lists only.
func EnvelopeOfLists(s Shape) ListEnvelope {
	out := ListEnvelope{Alike: true}
	add := func(item Shape) {
		if len(out.Items) > 0 && !out.Items.Equal(item) {
			out.Alike = false
		}
		out.Items = Merge(out.Items, item)
	}
	for i, t := range s {
		for _, item := range t.List.Prefix {
			add(item)
		}
		if !t.List.Closed {
			add(t.List.Rest)
		}
		if i == 0 {
			out.Min, out.Max = t.List.Min, t.List.Max
			continue
		}
		if out.Min != nil && (t.List.Min == nil || *t.List.Min < *out.Min) {
			out.Min = t.List.Min
		}
		if out.Max != nil && (t.List.Max == nil || *t.List.Max > *out.Max) {
			out.Max = t.List.Max
		}
	}
	if len(out.Items) == 0 {
		out.Items = Any() // no list has an item
	}
	return out
}
