package vet

import (
	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
)

// scalars are the scalar values that a schema requires, by field. For lists and
// maps they are the values of one item.
type scalars struct {
	// value is the value of a scalar.
	value ast.Expr
	// item has the values of the items of a list or map.
	item *scalars
	// required has the values of the required fields, optional those of the
	// optional fields.
	required, optional map[string]*scalars
}

// scalarsOf returns the scalars of a schema, or nil if it requires none or they are
// unknown. Scalars with a default are left out.
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

// isScalarKind reports whether a value can only be a scalar.
func isScalarKind(v cue.Value) bool {
	k := v.IncompleteKind()
	return k != cue.BottomKind && k&(cue.StructKind|cue.ListKind) == 0
}

// fill sets the required scalars of a sample that are not set. CUE treats a scalar
// that is not concrete like a missing one, so everything that depends on it would
// be unknown.
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

// hasValues reports whether a required scalar has a value.
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
