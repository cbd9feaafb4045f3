package crdgen

import (
	"math/bits"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/token"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

type props = apiextensionsv1.JSONSchemaProps

// writer says shapes as structural schemas. What a structural schema can't say
// it leaves out, with a note.
type writer struct {
	notes *noteList
}

// place is where a shape stands.
type place struct {
	path string
	pos  token.Pos
	// defaults says whether defaults may be written: not inside of members of
	// a choice, where they depend on which member is meant.
	defaults bool
}

func (p place) in(name string, pos token.Pos) place {
	p.path += name
	if pos.IsValid() {
		p.pos = pos
	}
	return p
}

// field writes a field with its description and default.
func (w writer) field(f field, p place) props {
	out := w.schema(f.shape, p)
	out.Description = f.description
	if p.defaults && f.value != nil {
		out.Default = &apiextensionsv1.JSON{Raw: f.value}
	}
	return out
}

// schema writes a shape with its type.
func (w writer) schema(s shape, p place) props {
	yes := true
	s, nullable := withoutNull(s)
	out := props{Nullable: nullable}
	switch kinds := kindsOf(s); kinds {
	case cue.TopKind:
		// The API server drops null from fields that aren't nullable.
		return props{XPreserveUnknownFields: &yes, Nullable: true}
	case cue.BottomKind:
		out.XPreserveUnknownFields = &yes
		w.notes.add(p.pos, p.path, "that the value is null")
		return out
	case cue.ListKind:
		w.list(&out, s, p)
		return out
	case cue.StructKind:
		w.structs(&out, s, p)
		return out
	case cue.BoolKind:
		out.Type = "boolean"
	case cue.IntKind:
		out.Type = "integer"
	case cue.NumberKind, cue.FloatKind:
		out.Type = "number"
	case cue.StringKind:
		out.Type = "string"
	case cue.IntKind | cue.StringKind:
		out.XIntOrString = true
	default:
		out.XPreserveUnknownFields = &yes
		w.notes.add(p.pos, p.path, "that the value is %s", kindNames(kinds))
		w.unsaid(s, p)
	}
	w.scalars(&out, s, nullable, p)
	return out
}

// unsaid notes what schemas without a type can't say about lists and structs.
func (w writer) unsaid(s shape, p place) {
	for _, t := range s {
		switch {
		case t.kind == cue.ListKind && !t.list.equal(&list{rest: anything()}):
			w.notes.add(p.pos, p.path, "what a list holds")
		case t.kind == cue.StructKind && !t.object.equal(&object{open: true}):
			w.notes.add(p.pos, p.path, "what a struct holds")
		}
	}
}

// withoutNull splits null off.
func withoutNull(s shape) (shape, bool) {
	rest := slices.DeleteFunc(slices.Clone(s), func(t term) bool { return t.kind == cue.NullKind })
	return rest, len(rest) < len(s)
}

// kindsOf is the union of the terms' kinds; TopKind only for anything.
func kindsOf(s shape) cue.Kind {
	var kinds cue.Kind
	for _, t := range s {
		kinds |= t.kind
	}
	return kinds
}

// kindNames lists kinds in words.
func kindNames(kinds cue.Kind) string {
	var names []string
	add := func(k cue.Kind, name string) {
		if kinds&k != 0 {
			names = append(names, name)
		}
	}
	if kinds&cue.FloatKind != 0 {
		add(cue.FloatKind, "a number")
	} else {
		add(cue.IntKind, "an int")
	}
	add(cue.BoolKind, "a bool")
	add(cue.StringKind, "a string")
	add(cue.ListKind, "a list")
	add(cue.StructKind, "a struct")
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// list writes lists. The items of a structural schema are all alike.
func (w writer) list(out *props, s shape, p place) {
	out.Type = "array"
	items := shape{}
	alike := true
	add := func(item shape) {
		if len(items) > 0 && !items.equal(item) {
			alike = false
		}
		items = either(items, item)
	}
	for i, t := range s {
		for _, item := range t.list.prefix {
			add(item)
		}
		if !t.list.closed {
			add(t.list.rest)
		}
		if i == 0 {
			out.MinItems, out.MaxItems = t.list.min, t.list.max
			continue
		}
		if out.MinItems != nil && (t.list.min == nil || *t.list.min < *out.MinItems) {
			out.MinItems = t.list.min
		}
		if out.MaxItems != nil && (t.list.max == nil || *t.list.max > *out.MaxItems) {
			out.MaxItems = t.list.max
		}
	}
	switch {
	case len(s) > 1:
		w.notes.add(p.pos, p.path, "the choice between lists")
	case !alike:
		w.notes.add(p.pos, p.path, "which item takes which value")
	}
	if len(items) == 0 {
		items = anything() // there are none
	}
	at := p.in("[]", token.NoPos)
	at.defaults = p.defaults && alike && len(s) == 1
	schema := w.schema(items, at)
	out.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &schema}
}

// isMixed says whether kinds are of more than one JSON type.
func isMixed(kinds cue.Kind) bool {
	return bits.OnesCount16(uint16(kinds&^cue.NumberKind)) > 1 || kinds&cue.NumberKind != 0 && kinds&^cue.NumberKind != 0
}
