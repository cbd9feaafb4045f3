package crdgen

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"
)

// structure is what v admits among structs: one term, or one for each member of
// a disjunction.
func (r *reader) structure(v cue.Value, path string, c *condition) shape {
	s := r.sourcesOf(v, c)
	leave, ok := r.enter(path, keyOf(s.literals))
	if !ok {
		return anything()
	}
	defer leave()
	members := structMembers(v)
	s.ways = max(s.ways, literalMembers(expression(v.Source())))
	if len(members) < s.ways {
		members = r.survivors(v, s)
	}
	if len(members) != 1 {
		for _, n := range s.notes {
			r.note(n.pos, path, "%s", n.what)
		}
		s.notes = nil
	}
	if members == nil {
		r.note(v.Pos(), path, "the choice between structs")
		return ofKinds(cue.StructKind)
	}
	// CUE v0.17 doesn't close a struct that is unified with matchN, nor what is
	// in it.
	loose := r.loose
	r.loose = loose || slices.ContainsFunc(s.calls, func(v cue.Value) bool { return v.IncompleteKind() == cue.TopKind })
	var out shape
	for _, m := range members {
		read := func() {
			out = append(out, term{kind: cue.StructKind, object: r.object(m, path, s, len(members) > 1)})
		}
		if len(members) == 1 {
			read()
			continue
		}
		r.in(step{barrier: true}, read)
	}
	r.loose = loose
	if _, preferred := v.Default(); preferred && len(out) > 1 {
		for _, t := range out {
			t.object.preferred = true
		}
	}
	out = either(out)
	for _, call := range s.calls {
		out = both(out, r.leaf(r.conjunctOf(call), path, c))
	}
	for _, call := range s.memberCalls {
		if call.IncompleteKind() != cue.BottomKind {
			r.note(call.Pos(), path, "%s", sourceText(call))
		}
	}
	return out
}

// literalMembers is how many structs the disjunction e lists. CUE leaves out those
// that fail without input.
func literalMembers(e ast.Expr) int {
	switch x := e.(type) {
	case *ast.BinaryExpr:
		if x.Op == token.OR {
			return literalMembers(expression(x.X)) + literalMembers(expression(x.Y))
		}
	case *ast.UnaryExpr:
		if x.Op == token.MUL {
			return literalMembers(expression(x.X))
		}
	case *ast.StructLit:
		return 1
	}
	return 0
}

// structMembers are the structs among the members of v's disjunction as
// evaluated, or v itself.
func structMembers(v cue.Value) []cue.Value {
	e := v.Eval()
	op, args := e.Expr()
	switch {
	case op == cue.OrOp:
		return slices.DeleteFunc(args, func(m cue.Value) bool { return m.IncompleteKind() != cue.StructKind })
	case op == cue.NoOp && len(args) == 1 && args[0] != e && args[0].IncompleteKind() == cue.StructKind:
		return args
	}
	return []cue.Value{v}
}

// survivors are the members of v's disjunctions where CUE evaluates fewer than
// the source has. It is nil if they can't be told: if CUE may have left members
// out because they contradict a default that an instance can override, or
// because they look alike until there is data.
func (r *reader) survivors(v cue.Value, s *sources) []cue.Value {
	if slices.ContainsFunc(s.literals, anyFieldRefers) {
		return nil
	}
	evaluated := structMembers(v)
	if len(evaluated) >= r.alive(v) && !slices.ContainsFunc(s.literals, calls) {
		return evaluated
	}
	if whole := r.conjunctOf(v); whole.op == cue.OrOp {
		var out []cue.Value
		for _, m := range whole.args {
			if inner := r.conjunctOf(m); inner.op == cue.OrOp {
				return nil
			} else if inner.isStruct() {
				out = append(out, m)
			}
		}
		return out
	}
	return nil
}

// alive is in how many ways v's disjunctions can be resolved without a
// contradiction.
func (r *reader) alive(v cue.Value) int {
	s := &sources{counting: true}
	_, alive := r.collect(v, v, s, false, 0)
	return alive
}

// calls says whether anything in n calls a function, which may fail for want of
// data: struct.MinFields does.
func calls(n ast.Node) bool {
	found := false
	ast.Walk(n, func(n ast.Node) bool {
		_, isCall := n.(*ast.CallExpr)
		found = found || isCall
		return !found
	}, nil)
	return found
}

// keyOf names a struct by all of its literals, so that a generic definition may
// be used inside of itself with another argument.
func keyOf(literals []ast.Node) string {
	var keys []string
	for _, lit := range literals {
		if k := key(lit); k != "" {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return strings.Join(keys, " ")
}

// object is what the struct v admits. A member of a disjunction is kept even if
// one of its fields admits nothing.
func (r *reader) object(v cue.Value, path string, s *sources, member bool) *object {
	o, c := &object{}, s.condition
	it, err := v.Fields(cue.Optional(true), cue.Patterns(true))
	if err != nil {
		r.note(v.Pos(), path, "%s", sourceText(v))
		return &object{open: true}
	}
	r.push(s.literals, c)
	defer func() { r.pop(o, c) }()
	for _, n := range s.notes {
		if n.comprehension != nil {
			r.shareBody(n.comprehension)
		}
		notes := r.capture(func() { r.note(n.pos, path, "%s", n.what) })
		if n.comprehension == nil || !r.wait(pending{comprehension: n.comprehension, notes: notes}, n.comprehension) {
			r.put(notes...)
		}
	}
	declared := s.positions()
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
		if r.at = declared[it.Selector().Unquoted()]; !r.at.IsValid() {
			r.at = it.Value().Pos()
		}
		if !r.onlyConditional(it, c) {
			o.fields = append(o.fields, r.field(it, path, c, member))
		}
		r.at = before
	}
	slices.SortFunc(o.fields, func(f, g field) int { return strings.Compare(f.name, g.name) })
	o.open = c != nil && (c.open || c.deep)
	r.rest(o, v, patterns, path)
	if !o.open && o.values == nil {
		// What can't be there needs no mention among what is closed.
		o.fields = slices.DeleteFunc(o.fields, func(f field) bool { return len(f.shape) == 0 })
	}
	if c != nil && c.attributed.IsValid() {
		r.fail(errors.Newf(c.attributed, "%s: @%s: an attribute can't depend on a condition", path, attributeName))
	}
	for _, name := range c.names() {
		if o.lookup(name) != nil || strings.HasPrefix(name, "_") || strings.HasPrefix(name, "#") {
			continue
		}
		i, _ := slices.BinarySearchFunc(o.fields, name, byName)
		o.fields = slices.Insert(o.fields, i, field{
			name: name, shape: r.conditionalShape(c.fields[name], o.open || o.values != nil), optional: true, conditional: true, pos: c.fields[name][0].Pos(),
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
func (r *reader) field(it *cue.Iterator, path string, c *condition, member bool) field {
	v, name := it.Value(), it.Selector().Unquoted()
	path += "." + name
	f := field{name: name, description: description(v), pos: r.at, attributes: r.attributes(v, r.at, path)}
	r.in(step{field: name}, func() { f.shape = r.shape(v, path, c.field(name)) })
	f.optional = it.FieldType()&cue.OptionalConstraint != 0
	if len(f.shape) == 0 {
		switch {
		case f.optional:
			return f
		case !member && !c.touches(name):
			r.fail(errors.Newf(r.at, "%s: admits no value", path))
		}
		f.shape = anything()
	}
	if f.optional {
		return f
	}
	if c.touches(name) && !c.onlyBounds(name) {
		if it.FieldType()&cue.RequiredConstraint != 0 || v.Validate(cue.Concrete(true)) != nil {
			r.note(f.pos, path, "that the field is given")
		}
		return f
	}
	var value, anyRef bool
	for _, src := range r.expressions(v) {
		value = value || valueDependsOnInput(src)
		anyRef = anyRef || anyDependsOnInput(src)
	}
	if it.FieldType()&cue.RequiredConstraint != 0 {
		f.required = true
		return f
	}
	// A regular field that the instance leaves out is v itself. Unless other
	// input completes it, CUE rejects the instance if v isn't concrete.
	if v.Validate(cue.Concrete(true)) != nil {
		f.required = !value && !r.matching
		return f
	}
	if !anyRef && !c.touches(name) {
		f.value = defaultOf(v)
	}
	return f
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
		o.values = either(o.values, o.patterns[len(o.patterns)-1].values)
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
		out = either(out, s)
	}
	if len(out) == 0 {
		return anything()
	}
	return out
}

// isAnyString says whether every field's name satisfies key.
func isAnyString(key cue.Value) bool {
	op, args := key.Expr()
	return op == cue.NoOp && (len(args) == 0 || args[0] == key) && !key.IsConcrete() && key.IncompleteKind()&cue.StringKind != 0
}
