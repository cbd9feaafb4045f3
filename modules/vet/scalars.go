package vet

import (
	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
)

// scalars are the scalar values that a schema requires, by field. For lists and
// maps they are the values of one item. A sample that sets a list or an optional
// struct is completed from them; see sample.fill.
//
// The schema {name: string, size: int | *1, tls?: {host: string}} gives a value
// for name, below required, and one for tls.host, below optional. It gives none
// for size, which has a default.
type scalars struct {
	// value is the value of a scalar.
	value ast.Expr
	// item has the values of the items of a list or map.
	item *scalars
	// required has the values of the required fields, optional those of the
	// optional fields.
	required, optional map[string]*scalars
}

// scalarsOf returns the scalars of a schema, or nil if it requires none or they
// are unknown. Scalars with a default are left out, and so are concrete ones. A
// disjunction of structs is unknown, because the sample leaves it open. depth is
// the level below the input.
func scalarsOf(v cue.Value, depth int) *scalars {
	alts := alternatives(v)
	if _, has := v.Default(); has && isScalarKind(v) || v.IsConcrete() && isScalarKind(v) || depth > maxDepth {
		return nil
	}
	if isScalarKind(v) {
		if e := (schema{values: []cue.Value{v}}).anyValue(); isLiteral(e) {
			return &scalars{value: e}
		}
		return nil
	}
	if len(alts) != 1 {
		return nil
	}
	f := &scalars{required: map[string]*scalars{}, optional: map[string]*scalars{}}
	if item, ok := (schema{values: alts}).item(); ok {
		f.item = scalarsOf(item.values[0], depth+1)
	}
	if alts[0].IncompleteKind() == cue.StructKind {
		for field, value := range declared(alts[0]) {
			below := scalarsOf(value, depth+1)
			switch {
			case below == nil:
			case field.optional:
				f.optional[field.name] = below
			default:
				f.required[field.name] = below
			}
		}
	}
	if f.item == nil && len(f.required) == 0 && len(f.optional) == 0 {
		return nil
	}
	return f
}

// isScalarKind reports whether a value can only be a scalar, null included. It is
// false for an error.
func isScalarKind(v cue.Value) bool {
	k := v.IncompleteKind()
	return k != cue.BottomKind && k&(cue.StructKind|cue.ListKind) == 0
}

// fill sets the required scalars of a sample that are not set. CUE treats a
// scalar that is not concrete like a missing one, so everything that depends on
// it would be unknown.
//
// Optional fields, and items of lists and maps, are filled only where the sample
// already has them. Required structs are created if they hold a scalar.
func (s *sample) fill(f *scalars) {
	switch {
	case f == nil || s.value != nil && isLiteral(s.value):
		return
	case f.value != nil:
		s.value = f.value
		return
	}
	if s.item != nil {
		s.item.fill(f.item)
	}
	for name, at := range s.fields {
		switch {
		case f.optional[name] != nil:
			at.fill(f.optional[name])
		// A name that the schema does not declare is the key of a map.
		case f.required[name] == nil:
			at.fill(f.item)
		}
	}
	for name, below := range f.required {
		if s.fields[name] != nil || below.hasValues() {
			s.at(element{field: name}).fill(below)
		}
	}
}

// hasValues reports whether f holds a value that every instance must set: its
// own, or that of a required field at any depth.
func (f *scalars) hasValues() bool {
	if f.value != nil {
		return true
	}
	for _, below := range f.required {
		if below.hasValues() {
			return true
		}
	}
	return false
}
