package read

import (
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/errors"

	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
	"github.com/pequod-io/pequod/internal/schema/translate"
)

// list reads the list v. Lit is its source if that is a literal, and nil
// otherwise. [string, int, ...bool] has the prefix string and int, the rest bool,
// and at least two items.
func (r *reader) list(v cue.Value, lit *ast.ListLit, in context) shape.Shape {
	// A comprehension in a list may add any number of items.
	if lit != nil {
		for _, e := range lit.Elts {
			if c, ok := e.(*ast.Comprehension); ok && r.parameters.DependsOnInput(c) {
				in.note(c.Pos(), "what a comprehension over other fields puts into the list")
				return shape.OfKinds(shape.ListKind)
			}
		}
	}
	in, ok := r.enter(in, syntax.Key(lit))
	if !ok {
		return shape.Any()
	}

	item, closers := in.below("[]"), r.closers(in, v)
	l := &shape.List{Closed: true}
	items, err := v.List()
	if err != nil {
		in.note(v.Pos(), "%s", sourceText(v))
		return shape.OfKinds(shape.ListKind)
	}
	for items.Next() {
		// A rule of an outer struct can't be about one item, hence the barrier.
		here := item.across(translate.Segment{Barrier: true})
		here.closers = within(closers, cue.Index(len(l.Prefix)), cue.AnyIndex)
		l.Prefix = append(l.Prefix, r.shape(items.Value(), here, nil))
	}
	if rest := v.LookupPath(cue.MakePath(cue.AnyIndex)); rest.Exists() || syntax.IsOpen(lit) {
		l.Closed = false
		each := translate.Segment{Each: translate.EachItem}
		// Rules about all items would be about the prefix, too.
		if len(l.Prefix) > 0 {
			each = translate.Segment{Barrier: true}
		}
		here := item.across(each)
		here.closers = within(closers, cue.AnyIndex)
		l.Rest = r.shape(rest, here, nil)
		if len(l.Rest) == 0 {
			l.Closed = true // [...T] has no items if T admits nothing
		}
	}
	n := int64(len(l.Prefix))
	if n > 0 {
		l.Min = &n
	}
	if l.Closed {
		l.Max = &n
	}
	return shape.Shape{{Kind: shape.ListKind, List: l}}
}

// pattern is a constraint, value, on the fields whose names satisfy key.
type pattern struct {
	key, value cue.Value
}

// rest reads what o's fields may be that are not listed. There are three cases.
// With [string]: T, o is a map of T, and further patterns constrain some of its
// values. An open struct admits anything, and its patterns become notes. A closed
// struct with patterns such as [=~"^x-"]: T is a map with certain keys.
func (r *reader) rest(o *shape.Object, v cue.Value, patterns []pattern, in context) {
	var all, some []pattern
	for _, p := range patterns {
		if a := r.attributes(p.value, p.value.Pos(), in.below(".*")); a != nil {
			// The attribute in labels: [string]: string @k8s(…) looks as if it
			// were about labels, but CUE attaches it to the values.
			r.fail(errors.Newf(p.value.Pos(), "%s.*: @%s belongs to a field: put the map in braces and the attribute behind them", in.path, syntax.AttributeName))
		}
		if isAnyString(p.key) {
			all = append(all, p)
		} else {
			some = append(some, p)
		}
	}
	in = in.below(".*")
	open := v.Allows(cue.AnyString)
	if in.closed && !v.LookupPath(cue.MakePath(cue.AnyString)).Exists() {
		// A part of a closed value doesn't know that it is closed.
		open = false
	}
	open = open || in.open
	if slices.ContainsFunc(in.closers, func(by closer) bool { return !by.isOpen() }) {
		open, all, some = false, nil, nil
	}
	if len(all) > 0 {
		values := shape.Any()
		for _, p := range all {
			each := translate.Segment{Each: translate.EachValue}
			if len(o.Fields) > 0 || len(some) > 0 || o.Open {
				each = translate.Segment{Barrier: true}
			}
			here := in.across(each)
			here.closers = within(in.closers, cue.AnyString)
			values = shape.Intersect(values, r.shape(p.value, here, nil))
		}
		o.Values = values
		for _, p := range some {
			r.keyed(o, p, values, in)
		}
		return
	}
	if open {
		o.Open = true
		for _, p := range some {
			in.note(p.value.Pos(), "the constraint on fields that match %s", sourceText(p.key))
		}
		return
	}
	for _, p := range some {
		r.keyed(o, p, shape.Any(), in)
		o.Values = shape.Merge(o.Values, o.Patterns[len(o.Patterns)-1].Values)
		o.KeysClosed = true
	}
}

// item reads the values of a map. Rules of the structs around it can't be about
// them.
func (r *reader) item(v cue.Value, in context) shape.Shape {
	return r.shape(v, in.across(translate.Segment{Barrier: true}), nil)
}

// keyed adds a pattern to o. The pattern's values must satisfy values besides.
// The key is read without notes, because the pattern as a whole is noted if it
// can't be written.
func (r *reader) keyed(o *shape.Object, p pattern, values shape.Shape, in context) {
	k := shape.KeyPattern{Text: sourceText(p.key), Pos: positionOf(p.value.Pos()), Values: shape.Intersect(values, r.item(p.value, in))}
	quiet, notes := in.capture()
	k.Key = shape.Intersect(shape.OfKinds(shape.StringKind), r.item(p.key, quiet))
	if len(*notes) > 0 {
		// A key that can't be read exactly may be any key.
		k.Key = nil
	}
	o.Patterns = append(o.Patterns, k)
}

// isAnyString reports whether every name satisfies key. string and _ are such
// keys, and =~"^x-" is not.
func isAnyString(key cue.Value) bool {
	op, args := key.Expr()
	return op == cue.NoOp && (len(args) == 0 || args[0] == key) && !key.IsConcrete() && kindsOfValue(key)&shape.StringKind != 0
}
