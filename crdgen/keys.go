package crdgen

import (
	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"
)

// pattern is a constraint on the fields whose names satisfy key.
type pattern struct {
	key, value cue.Value
}

// rest sets what o's other fields may be.
func (r *reader) rest(o *object, v cue.Value, patterns []pattern, path string) {
	var all, some []pattern
	for _, p := range patterns {
		if a := r.attributes(p.value, p.value.Pos(), path+".*"); a != nil {
			// labels: [string]: string @k8s(…) is about the values, which CUE's
			// syntax hides.
			r.fail(errors.Newf(p.value.Pos(), "%s.*: @%s belongs to a field: put the map in braces and the attribute behind them", path, attributeName))
		}
		if isAnyString(p.key) {
			all = append(all, p)
		} else {
			some = append(some, p)
		}
	}
	path += ".*"
	open := v.Allows(cue.AnyString)
	if r.closed && !v.LookupPath(cue.MakePath(cue.AnyString)).Exists() {
		// v is a part of something closed and doesn't know it.
		open = false
	}
	open = open || r.loose
	if len(all) > 0 {
		values := anything()
		for _, p := range all {
			each := step{each: eachValue}
			if len(o.fields) > 0 || len(some) > 0 || o.open {
				each = step{barrier: true}
			}
			r.in(each, func() { values = both(values, r.shape(p.value, path, nil)) })
		}
		o.values = values
		for _, p := range some {
			r.keyed(o, p, values, path)
		}
		return
	}
	if open {
		o.open = true
		for _, p := range some {
			r.note(p.value.Pos(), path, "the constraint on fields that match %s", sourceText(p.key))
		}
		return
	}
	for _, p := range some {
		r.keyed(o, p, anything(), path)
		o.values = merge(o.values, o.patterns[len(o.patterns)-1].values)
		o.keysClosed = true
	}
}

// item is what the values of a map admit.
func (r *reader) item(v cue.Value, path string) shape {
	var s shape
	r.in(step{barrier: true}, func() { s = r.shape(v, path, nil) })
	return s
}

// keyed adds a pattern to o, whose values are narrowed by it.
func (r *reader) keyed(o *object, p pattern, values shape, path string) {
	k := keyPattern{text: sourceText(p.key), pos: p.value.Pos(), values: both(values, r.item(p.value, path))}
	notes := r.capture(func() { k.key = both(ofKinds(cue.StringKind), r.item(p.key, path)) })
	if len(notes) > 0 {
		// A key that can't be told may be any.
		k.key = nil
	}
	o.patterns = append(o.patterns, k)
}

// isAnyString says whether every field's name satisfies key.
func isAnyString(key cue.Value) bool {
	op, args := key.Expr()
	return op == cue.NoOp && (len(args) == 0 || args[0] == key) && !key.IsConcrete() && key.IncompleteKind()&cue.StringKind != 0
}
