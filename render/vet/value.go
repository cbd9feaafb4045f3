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
			if !yield(it.Selector().Unquoted(), it.Value()) {
				return
			}
		}
	}
}

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

// text gives a string that depends on nothing, not even on a default.
func text(v cue.Value) (string, bool) {
	if !v.IsConcrete() {
		return "", false
	}
	s, err := v.String()
	return s, err == nil
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
