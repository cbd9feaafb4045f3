package crdgen

import (
	"bytes"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/errors"
)

// object is what the struct v admits. A member of a disjunction is kept even if
// one of its fields admits nothing.
func (r *reader) object(v cue.Value, path string, s *sources, member bool) *object {
	o, c := &object{}, s.condition
	it, err := v.Fields(cue.Optional(true), cue.Patterns(true))
	if err != nil {
		r.note(v.Pos(), path, "%s", sourceText(v))
		return &object{open: true, unread: true}
	}
	r.push(s.literals, c)
	defer func() { r.pop(o, c) }()
	for _, n := range s.notes {
		if n.comprehension != nil {
			r.share(n.comprehension)
		}
		notes := r.capture(func() { r.note(n.pos, path, "%s", n.what) })
		if n.comprehension == nil || !r.wait(pending{comprehension: n.comprehension, notes: notes}, n.comprehension) {
			r.put(notes...)
		}
	}
	var patterns []pattern
	for it.Next() {
		if it.FieldType()&cue.PatternConstraint != 0 {
			patterns = append(patterns, pattern{key: it.Selector().Pattern(), value: it.Value()})
			continue
		}
		if !it.Selector().IsString() {
			continue
		}
		before := r.at
		if r.at = s.position(it.Selector().Unquoted()); !r.at.IsValid() {
			r.at = it.Value().Pos()
		}
		if len(s.declarations(it.Selector().Unquoted())) > 0 || !r.onlyConditional(it, c) {
			o.fields = append(o.fields, r.field(it, path, s, member))
		}
		r.at = before
	}
	slices.SortFunc(o.fields, func(f, g field) int { return strings.Compare(f.name, g.name) })
	o.open = c != nil && (c.open || c.deep)
	o.unread = o.open
	r.rest(o, v, patterns, path)
	if !o.open && o.values == nil {
		// What can't be there needs no mention among what is closed.
		o.fields = slices.DeleteFunc(o.fields, func(f field) bool { return len(f.shape) == 0 })
	}
	if c != nil && c.attributed.IsValid() {
		r.fail(errors.Newf(c.attributed, "%s: @%s: an attribute can't depend on a condition", path, attributeName))
	}
	for _, name := range c.names() {
		if len(s.declarations(name)) > 0 && !o.open {
			continue // it is among the fields, or can't be there
		}
		if o.lookup(name) != nil || strings.HasPrefix(name, "_") || strings.HasPrefix(name, "#") {
			continue
		}
		i, _ := slices.BinarySearchFunc(o.fields, name, byName)
		o.fields = slices.Insert(o.fields, i, field{
			name: name, shape: r.conditionalShape(c.fields[name], o.open || o.values != nil), optional: true, conditional: true, pos: c.fields[name][0].Pos(),
			filled: len(c.fields[name]) > 1 && !allBound(c.fields[name]),
		})
	}
	return o
}

// onlyConditional says whether a field is there, as far as is known, because a
// comprehension's conditions hold without any input.
func (r *reader) onlyConditional(it *cue.Iterator, c *condition) bool {
	if !c.touches(it.Selector().Unquoted()) {
		return false
	}
	parts, dropped := r.conjuncts(it.Value())
	return len(parts) == 0 && dropped
}

// field reads one field. The shape of an optional field that can't be present is
// empty.
func (r *reader) field(it *cue.Iterator, path string, s *sources, member bool) field {
	c := s.condition
	v, name := it.Value(), it.Selector().Unquoted()
	path += "." + name
	f := field{name: name, description: description(v), pos: r.at, attributes: r.attributes(v, r.at, path)}
	blurred := r.blurred
	r.blurred = c != nil && slices.ContainsFunc(c.fields[name], func(e ast.Expr) bool { return len(membersOf(expression(e))) > 1 })
	r.in(step{field: name}, func() { f.shape = r.shape(v, path, c.field(name)) })
	r.blurred = blurred
	mark := it.FieldType()
	if c.touches(name) {
		mark = s.markOf(name)
	}
	f.optional = mark&cue.OptionalConstraint != 0
	if len(f.shape) == 0 {
		switch {
		case f.optional:
			f.shape = r.forbidden(v, path)
			return f
		case !member && !c.touches(name):
			r.fail(errors.Newf(r.at, "%s: admits no value", path))
		}
		f.shape = anything()
	}
	if f.optional {
		f.filled = c.touches(name) && !(s.isBound(name) && allBound(c.fields[name]))
		return f
	}
	if c.touches(name) && (!c.onlyBounds(name) || !s.isBound(name)) {
		r.underConditions(&f, v, c, mark, path)
		return f
	}
	var value, anyRef, choice bool
	for _, src := range r.expressions(v) {
		value = value || valueDependsOnInput(src)
		choice = choice || valueDependsOnInput(src) && isOpenChoice(src)
		anyRef = anyRef || anyDependsOnInput(src)
	}
	if mark&cue.RequiredConstraint != 0 {
		f.required = true
		return f
	}
	// A regular field that the instance leaves out is v itself. Unless other
	// input completes it, CUE rejects the instance if v isn't concrete.
	complete := v.Validate(cue.Concrete(true)) == nil
	if choice || !complete && value && f.shape.demands() {
		r.note(f.pos, path, "that the field is given")
	}
	if !complete {
		f.required = !value && !r.matching
		return f
	}
	_, chosen := v.Default()
	if !anyRef && !c.touches(name) && (chosen || !f.shape.isAnything()) {
		f.value = defaultOf(v)
		if !isSettled(v, f.value) {
			f.value = nil
		}
	}
	return f
}

// underConditions says when f, a field to which conditions add more than bounds, must
// be given.
func (r *reader) underConditions(f *field, v cue.Value, c *condition, mark cue.SelectorType, path string) {
	ways, ok := r.ways(v, c, f.name)
	f.clashes = !ok || slices.ContainsFunc(ways, isContradiction)
	if mark&cue.RequiredConstraint == 0 && v.Validate(cue.Concrete(true)) == nil {
		return
	}
	if mark&cue.RequiredConstraint != 0 && !c.open && !c.deep && !c.regular[f.name] {
		f.required = !r.matching
		return
	}
	fills := fillsOf(ways)
	f.required = fills == fillsNever && !r.matching
	if !f.required {
		f.unless = &unless{fills: fills, notes: r.capture(func() { r.note(f.pos, path, "that the field is given") })}
	}
}

// isSettled says whether v is its default, in JSON, also where the instance gives
// just that: other members of a disjunction may fit it, too.
func isSettled(v cue.Value, value []byte) bool {
	_, chosen := v.Default()
	if !chosen || v.IncompleteKind()&(cue.StructKind|cue.ListKind) == 0 || value == nil {
		return true
	}
	given := v.Unify(cuecontext.New().CompileBytes(value))
	again, err := given.MarshalJSON()
	return err == nil && given.Validate(cue.Concrete(true)) == nil && bytes.Equal(again, value)
}

// demands says whether a struct in s has a field that must be given.
func (s shape) demands() bool {
	return slices.ContainsFunc(s, func(t term) bool {
		return t.kind == cue.StructKind && slices.ContainsFunc(t.object.fields, func(f field) bool {
			return f.required || !f.optional && f.shape.demands()
		})
	})
}

// forbidden is what an optional field admits that CUE evaluates to an error. In
// the values of a map, CUE v0.17.1 takes fields beside an embedded definition for
// misspelt ones; that says nothing about what an instance may have.
func (r *reader) forbidden(v cue.Value, path string) shape {
	if err := v.Err(); err == nil || !strings.Contains(err.Error(), "not allowed") {
		return nil
	}
	if e := expression(v.Source()); e != nil && !anyFieldRefers(e) {
		if s, ok := r.staticShape(e, r.closed); ok {
			return s
		}
	}
	r.note(r.at, path, "what the field holds")
	return anything()
}

// expressions are the sources of v's conjuncts.
func (r *reader) expressions(v cue.Value) []ast.Expr {
	var out []ast.Expr
	if e := expression(v.Source()); e != nil {
		out = append(out, e)
	}
	if c := r.conjunctOf(v); c.op == cue.AndOp {
		for _, a := range c.args {
			out = append(out, r.expressions(a)...)
		}
	}
	return out
}

// defaultOf is the JSON of what v is if an instance doesn't say. Structs that
// aren't members of a disjunction default to the empty object: the defaults of
// their fields do the rest.
func defaultOf(v cue.Value) []byte {
	d, chosen := v.Default()
	if !chosen && d.IncompleteKind() == cue.StructKind {
		return []byte("{}")
	}
	data, err := d.MarshalJSON()
	if err != nil || d.IncompleteKind() == cue.BytesKind {
		return nil // no JSON: rendering fills the default in
	}
	return data
}

// conditionalShape is what a field may be that only comprehensions declare, with
// one of these expressions each.
func (r *reader) conditionalShape(exprs []ast.Expr, open bool) shape {
	if open {
		return anything() // what the condition doesn't declare may be there, too
	}
	var out shape
	for _, e := range exprs {
		if isBottom(e) {
			continue
		}
		if anyFieldRefers(e) {
			return anything()
		}
		closed := r.closed
		s, ok := r.staticShape(e, closed && len(exprs) == 1)
		if !ok || len(s) == 0 {
			return anything()
		}
		out = merge(out, s)
	}
	if len(out) == 0 {
		return anything()
	}
	return out
}
