package read

import (
	"bytes"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"

	"github.com/pequod-io/pequod/internal/schema/shape"
)

// isSettled reports whether setting the default explicitly yields the same value.
// It doesn't if the default also fits other members of a disjunction. Value is
// the default in JSON. Scalars are always settled. The values are compared as
// JSON, and v must be complete with the default.
func isSettled(v cue.Value, value []byte) bool {
	_, chosen := v.Default()
	if !chosen || kindsOfValue(v)&(shape.StructKind|shape.ListKind) == 0 || value == nil {
		return true
	}
	given := v.Unify(cuecontext.New().CompileBytes(value))
	again, err := given.MarshalJSON()
	return err == nil && given.Validate(cue.Concrete(true)) == nil && bytes.Equal(again, value)
}

// defaultOf returns the JSON of the value that v has if an instance doesn't set
// it. A struct that isn't a member of a disjunction defaults to the empty object,
// and the defaults of its fields do the rest. The result is nil if JSON can't
// represent the default; then only rendering supplies it. For {a: *1 | int}
// without a mark the result is {}, and the field a has the default 1.
func defaultOf(v cue.Value) []byte {
	d, chosen := v.Default()
	if !chosen && kindsOfValue(d) == shape.StructKind {
		return []byte("{}")
	}
	data, err := d.MarshalJSON()
	if err != nil || kindsOfValue(d) == shape.BytesKind {
		return nil // only rendering supplies it
	}
	return data
}
