package vet

import (
	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
)

// shape is what a schema wants where there is something: values of scalars.
type shape struct {
	value ast.Expr // of a scalar
	// item is what a list or a map holds.
	item *shape
	// wanted are the fields that must be given, others those that may be.
	wanted, others map[string]*shape
}

// shapeOf gives the shape of a schema, nil where it wants nothing, or nobody knows
// what. Scalars with a default are left to it.
func shapeOf(v cue.Value, depth int) *shape {
	alts := alternatives(v)
	if _, has := v.Default(); has && isScalarKind(v) || v.IsConcrete() && isScalarKind(v) || depth > maxDepth {
		return nil
	}
	if isScalarKind(v) {
		if e := (schema{values: []cue.Value{v}}).something(); isLiteral(e) {
			return &shape{value: e}
		}
		return nil
	}
	if len(alts) != 1 {
		return nil
	}
	f := &shape{wanted: map[string]*shape{}, others: map[string]*shape{}}
	if item, ok := (schema{values: alts}).element(); ok {
		f.item = shapeOf(item.values[0], depth+1)
	}
	if alts[0].IncompleteKind() == cue.StructKind {
		for field, value := range declared(alts[0]) {
			below := shapeOf(value, depth+1)
			switch {
			case below == nil:
			case field.optional:
				f.others[field.name] = below
			default:
				f.wanted[field.name] = below
			}
		}
	}
	if f.item == nil && len(f.wanted) == 0 && len(f.others) == 0 {
		return nil
	}
	return f
}

// isScalarKind tells values that are scalars and nothing else.
func isScalarKind(v cue.Value) bool {
	k := v.IncompleteKind()
	return k != cue.BottomKind && k&(cue.StructKind|cue.ListKind) == 0
}

// fill gives a sample the scalars that its schema wants: to CUE one that isn't
// concrete might as well not be there, and what depends on it isn't known.
func (s *sample) fill(f *shape) {
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
		case f.others[name] != nil:
			at.fill(f.others[name])
		case f.wanted[name] == nil:
			at.fill(f.item)
		}
	}
	for name, below := range f.wanted {
		if s.fields[name] != nil || below.wants() {
			s.step(step{field: name}).fill(below)
		}
	}
}

// wants says whether there is a scalar to be given.
func (f *shape) wants() bool {
	if f.value != nil {
		return true
	}
	for _, below := range f.wanted {
		if below.wants() {
			return true
		}
	}
	return false
}
