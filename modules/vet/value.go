package vet

import (
	"iter"

	"cuelang.org/go/cue"

	"github.com/pequod-io/pequod/render/kinds"
)

// get looks up a path of regular fields. The result does not exist if one of the
// fields does not.
func get(v cue.Value, names ...string) cue.Value {
	for _, name := range names {
		v = v.LookupPath(cue.MakePath(cue.Str(name)))
	}
	return v
}

// first returns the first of the named fields that exists, or a value that does
// not exist. It serves fields of nodes that modules may write under two names,
// such as dependencies and dependsOn.
func first(v cue.Value, names ...string) cue.Value {
	for _, name := range names {
		if f := get(v, name); f.Exists() {
			return f
		}
	}
	return cue.Value{}
}

// fields iterates over the regular fields of a struct that are known. It yields
// nothing for a value that is not a struct. A default takes the place of its
// disjunction, as it does in a real instance.
func fields(v cue.Value) iter.Seq2[string, cue.Value] {
	return func(yield func(string, cue.Value) bool) {
		v, _ := v.Default()
		it, err := v.Fields()
		if err != nil {
			return
		}
		for it.Next() {
			// The iterator also yields the items of an incomplete list.
			if sel := it.Selector(); sel.LabelType() == cue.StringLabel && !yield(sel.Unquoted(), it.Value()) {
				return
			}
		}
	}
}

// isPartialStruct reports whether v is a struct that CUE considers an error only
// because parts of it are not known yet.
func isPartialStruct(v cue.Value) bool {
	if v.IncompleteKind() != cue.BottomKind || v.Validate() != nil {
		return false
	}
	it, err := v.Fields()
	return err == nil && it.Next() && it.Selector().LabelType() == cue.StringLabel
}

// mayHaveMoreFields reports whether a struct may have fields that are not known
// yet.
func mayHaveMoreFields(v cue.Value) bool {
	return v.Err() != nil || v.IncompleteKind() == cue.BottomKind
}

// elements returns the known elements of a list, and nil for any other value.
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

// text returns a string, and false if it is not concrete or is a placeholder of a
// sample.
func text(v cue.Value) (string, bool) {
	s, err := v.String()
	if err != nil || isPlaceholder(s) {
		return "", false
	}
	return s, true
}

// scalar decodes a concrete scalar as a string, int64, float64 or bool. The order
// matters: an integer can be read as a float, too.
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
	b, _ := v.Bool() // the only kind that is left
	return b
}

// jsonTypes returns the JSON types of the values of a kind, or 0 if they are
// unknown. A kind may stand for several types: int|string gives Integer and
// String. Bytes are strings in JSON.
func jsonTypes(k cue.Kind) kinds.JSON {
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
