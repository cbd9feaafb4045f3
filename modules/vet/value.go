package vet

import (
	"iter"

	"cuelang.org/go/cue"

	"github.com/pequod-io/pequod/render/kinds"
)

// get follows regular fields.
func get(v cue.Value, names ...string) cue.Value {
	for _, name := range names {
		v = v.LookupPath(cue.MakePath(cue.Str(name)))
	}
	return v
}

// first gives the first of the fields that is there.
func first(v cue.Value, names ...string) cue.Value {
	for _, name := range names {
		if f := get(v, name); f.Exists() {
			return f
		}
	}
	return cue.Value{}
}

// fields are the regular fields that are known of a struct.
func fields(v cue.Value) iter.Seq2[string, cue.Value] {
	return func(yield func(string, cue.Value) bool) {
		v, _ := v.Default()
		it, err := v.Fields()
		if err != nil {
			return
		}
		for it.Next() {
			// A list that isn't wholly known has items here.
			if sel := it.Selector(); sel.LabelType() == cue.StringLabel && !yield(sel.Unquoted(), it.Value()) {
				return
			}
		}
	}
}

// declared are the fields that a schema names, and whether they are optional.
// Patterns aren't fields.
func declared(v cue.Value) iter.Seq2[declaredField, cue.Value] {
	return func(yield func(declaredField, cue.Value) bool) {
		it, err := v.Fields(cue.Optional(true))
		for err == nil && it.Next() {
			sel := it.Selector()
			if sel.LabelType() != cue.StringLabel || sel.ConstraintType() == cue.PatternConstraint {
				continue
			}
			if !yield(declaredField{sel.Unquoted(), it.IsOptional()}, it.Value()) {
				return
			}
		}
	}
}

type declaredField struct {
	name     string
	optional bool
}

// partly tells structs that CUE calls an error because of what isn't known.
func partly(v cue.Value) bool {
	if v.IncompleteKind() != cue.BottomKind || v.Validate() != nil {
		return false
	}
	it, err := v.Fields()
	return err == nil && it.Next() && it.Selector().LabelType() == cue.StringLabel
}

// mayHold says whether a struct may hold fields that aren't known. Of a struct
// that is another's CUE gives no error.
func mayHold(v cue.Value) bool { return v.Err() != nil || v.IncompleteKind() == cue.BottomKind }

// elements are the elements that are known of a list.
func elements(v cue.Value) []cue.Value {
	v, _ = v.Default()
	it, err := v.List()
	if err != nil {
		return nil
	}
	var all []cue.Value
	for it.Next() {
		all = append(all, it.Value())
	}
	return all
}

// text gives a string that is known.
func text(v cue.Value) (string, bool) {
	s, err := v.String()
	if err != nil || saysNothing(s) {
		return "", false
	}
	return s, true
}

// scalar decodes a concrete scalar.
func scalar(v cue.Value) any {
	if s, err := v.String(); err == nil {
		return s
	}
	if n, err := v.Int64(); err == nil {
		return n
	}
	if f, err := v.Float64(); err == nil {
		return f
	}
	b, _ := v.Bool() // the last kind that there is
	return b
}

// jsonOf is what values of a kind are in JSON, 0 where nothing is known.
func jsonOf(k cue.Kind) kinds.JSON {
	if k == cue.TopKind {
		return 0
	}
	var is kinds.JSON
	for _, m := range []struct {
		kind cue.Kind
		is   kinds.JSON
	}{
		{cue.BoolKind, kinds.Boolean}, {cue.IntKind, kinds.Integer}, {cue.FloatKind, kinds.Number},
		{cue.StringKind | cue.BytesKind, kinds.String}, {cue.ListKind, kinds.List}, {cue.StructKind, kinds.Map},
	} {
		if k&m.kind != 0 {
			is |= m.is
		}
	}
	return is
}
