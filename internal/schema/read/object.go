package read

import (
	"bytes"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/errors"
	"github.com/pequod-io/pequod/internal/schema/cuefault"
	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
	"github.com/pequod-io/pequod/internal/schema/translate"
)

// object is what the struct v admits. A member of a disjunction is kept even if
// one of its fields admits nothing.
func (r *reader) object(v cue.Value, in context, s *sources, member bool) *shape.Object {
	o, c := &shape.Object{}, s.guarded
	it, err := v.Fields(cue.Optional(true), cue.Patterns(true))
	if err != nil {
		in.note(v.Pos(), "%s", sourceText(v))
		return &shape.Object{Open: true, Unlisted: true}
	}
	in, frame := in.push(s.literals, c)
	defer func() { in.put(frame.Finish(o, c, static{r, in})...) }()
	for _, n := range s.notes {
		if n.comprehension != nil {
			r.share(in, n.comprehension)
		}
		notes := in.noteOf(n.pos, "%s", n.what)
		if n.comprehension == nil || !in.wait(translate.Pending{Comprehension: n.comprehension, Notes: notes}, n.comprehension) {
			in.put(notes...)
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
		here := in
		if here.pos = s.position(it.Selector().Unquoted()); !here.pos.IsValid() {
			here.pos = it.Value().Pos()
		}
		if len(s.declarations(it.Selector().Unquoted())) > 0 || !r.onlyGuarded(in, it, c) {
			o.Fields = append(o.Fields, r.field(it, here, s, member))
		}
	}
	slices.SortFunc(o.Fields, func(f, g shape.Field) int { return strings.Compare(f.Name, g.Name) })
	o.Open = c != nil && (c.Open || c.Deep)
	o.Unlisted = o.Open
	r.rest(o, v, patterns, in)
	if !o.Open && o.Values == nil {
		// What can't be there needs no mention among what is closed.
		o.Fields = slices.DeleteFunc(o.Fields, func(f shape.Field) bool { return len(f.Shape) == 0 })
	}
	if c != nil && c.Attributed.IsValid() {
		r.fail(errors.Newf(c.Attributed, "%s: @%s: an attribute can't depend on a condition", in.path, syntax.AttributeName))
	}
	for _, name := range c.Names() {
		if len(s.declarations(name)) > 0 && !o.Open {
			continue // it is among the fields, or can't be there
		}
		if o.Lookup(name) != nil || strings.HasPrefix(name, "_") || strings.HasPrefix(name, "#") {
			continue
		}
		i, _ := slices.BinarySearchFunc(o.Fields, name, shape.ByName)
		o.Fields = slices.Insert(o.Fields, i, shape.Field{
			Name: name, Shape: r.guardedShape(in, c.Fields[name], o.Open || o.Values != nil), Optional: true, Guarded: true, Pos: positionOf(c.Fields[name][0].Pos()),
			GuardFills: len(c.Fields[name]) > 1 && !syntax.AllBound(c.Fields[name]),
		})
	}
	return o
}

// onlyConditional says whether a field is there, as far as is known, because a
// comprehension's conditions hold without any input.
func (r *reader) onlyGuarded(in context, it *cue.Iterator, c *syntax.Guarded) bool {
	if !c.Touches(it.Selector().Unquoted()) {
		return false
	}
	parts, dropped := r.conjuncts(in, it.Value())
	return len(parts) == 0 && dropped
}

// field reads one field. The shape of an optional field that can't be present is
// empty.
func (r *reader) field(it *cue.Iterator, in context, s *sources, member bool) shape.Field {
	c := s.guarded
	v, name := it.Value(), it.Selector().Unquoted()
	in = in.below("." + name)
	f := shape.Field{Name: name, Description: description(v), Pos: positionOf(in.pos), Attributes: r.attributes(v, in.pos, in)}
	value := in.across(translate.Segment{Field: name})
	value.lenient = cuefault.ForgottenReference && c != nil && slices.ContainsFunc(c.Fields[name], func(e ast.Expr) bool { return len(syntax.MembersOf(syntax.Expression(e))) > 1 })
	f.Shape = r.shape(v, value, c.Field(name))
	mark := it.FieldType()
	if c.Touches(name) {
		mark = s.markOf(name)
	}
	f.Optional = mark&cue.OptionalConstraint != 0
	if len(f.Shape) == 0 {
		switch {
		case f.Optional:
			f.Shape = r.forbidden(v, in)
			return f
		case !member && !c.Touches(name):
			r.fail(errors.Newf(in.pos, "%s: admits no value", in.path))
		}
		f.Shape = shape.Any()
	}
	if f.Optional {
		f.GuardFills = c.Touches(name) && !(s.isBound(name) && syntax.AllBound(c.Fields[name]))
		return f
	}
	if c.Touches(name) && (!c.OnlyBounds(name) || !s.isBound(name)) {
		r.underGuards(&f, v, c, mark, in)
		return f
	}
	var depends, anyRef, choice bool
	for _, src := range r.expressions(v) {
		depends = depends || syntax.ValueDependsOnInput(src)
		choice = choice || syntax.ValueDependsOnInput(src) && syntax.IsOpenChoice(src)
		anyRef = anyRef || syntax.AnyDependsOnInput(src)
	}
	if mark&cue.RequiredConstraint != 0 {
		f.Required = true
		return f
	}
	// A regular field that the instance leaves out is v itself. Unless other
	// input completes it, CUE rejects the instance if v isn't concrete.
	complete := v.Validate(cue.Concrete(true)) == nil
	if choice || !complete && depends && f.Shape.HasRequired() {
		in.note(in.pos, "that the field is given")
	}
	if !complete {
		f.Required = !depends && !in.matching
		return f
	}
	_, chosen := v.Default()
	if !anyRef && !c.Touches(name) && (chosen || !f.Shape.IsAnything()) {
		f.Default = defaultOf(v)
		if !isSettled(v, f.Default) {
			f.Default = nil
		}
	}
	return f
}

// underConditions says when f, a field to which conditions add more than bounds, must
// be given.
func (r *reader) underGuards(f *shape.Field, v cue.Value, c *syntax.Guarded, mark cue.SelectorType, in context) {
	ways, ok := r.ways(in, v, c, f.Name)
	f.GuardClashes = !ok || slices.ContainsFunc(ways, isContradiction)
	if mark&cue.RequiredConstraint == 0 && v.Validate(cue.Concrete(true)) == nil {
		return
	}
	if mark&cue.RequiredConstraint != 0 && !c.Open && !c.Deep && !c.Regular[f.Name] {
		f.Required = !in.matching
		return
	}
	fills := fillsOf(ways)
	f.Required = fills == translate.FillsNever && !in.matching
	if !f.Required {
		in.frames[len(in.frames)-1].Unless[f.Name] = translate.Unless{Fills: fills, Notes: in.noteOf(in.pos, "that the field is given")}
	}
}

// isSettled says whether v is its default, in JSON, also where the instance gives
// just that: other members of a disjunction may fit it, too.
func isSettled(v cue.Value, value []byte) bool {
	_, chosen := v.Default()
	if !chosen || kindsOfValue(v)&(shape.StructKind|shape.ListKind) == 0 || value == nil {
		return true
	}
	given := v.Unify(cuecontext.New().CompileBytes(value))
	again, err := given.MarshalJSON()
	return err == nil && given.Validate(cue.Concrete(true)) == nil && bytes.Equal(again, value)
}

// forbidden is what an optional field admits that CUE evaluates to an error. In
// the values of a map, CUE v0.17.1 takes fields beside an embedded definition for
// misspelt ones; that says nothing about what an instance may have.
func (r *reader) forbidden(v cue.Value, in context) shape.Shape {
	if err := v.Err(); !cuefault.ForbiddenEmbedding || err == nil || !strings.Contains(err.Error(), "not allowed") {
		return nil
	}
	if e := syntax.Expression(v.Source()); e != nil && !syntax.AnyFieldRefers(e) {
		if s, ok := r.staticShape(in, e, in.closed); ok {
			return s
		}
	}
	in.note(in.pos, "what the field holds")
	return shape.Any()
}

// expressions are the sources of v's conjuncts.
func (r *reader) expressions(v cue.Value) []ast.Expr {
	var out []ast.Expr
	if e := syntax.Expression(v.Source()); e != nil {
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
	if !chosen && kindsOfValue(d) == shape.StructKind {
		return []byte("{}")
	}
	data, err := d.MarshalJSON()
	if err != nil || kindsOfValue(d) == shape.BytesKind {
		return nil // no JSON: rendering fills the default in
	}
	return data
}

// conditionalShape is what a field may be that only comprehensions declare, with
// one of these expressions each.
func (r *reader) guardedShape(in context, exprs []ast.Expr, open bool) shape.Shape {
	if open {
		return shape.Any() // what the condition doesn't declare may be there, too
	}
	var out shape.Shape
	for _, e := range exprs {
		if syntax.IsBottom(e) {
			continue
		}
		if syntax.AnyFieldRefers(e) {
			return shape.Any()
		}
		closed := in.closed
		s, ok := r.staticShape(in, e, closed && len(exprs) == 1)
		if !ok || len(s) == 0 {
			return shape.Any()
		}
		out = shape.Merge(out, s)
	}
	if len(out) == 0 {
		return shape.Any()
	}
	return out
}
