package read

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/errors"

	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
	"github.com/pequod-io/pequod/internal/schema/translate"
)

// object reads one struct, which s describes. Member means that it is a member of
// a disjunction; then it is kept even if one of its fields admits nothing. The
// steps: open a frame for rules, let the parts that hold only for some input wait
// in it, read the fields and patterns, add the fields that only guards declare,
// and finish the frame.
func (r *reader) object(v cue.Value, in context, s *sources, member bool) *shape.Object {
	o, c := &shape.Object{}, s.guarded
	it, err := v.Fields(cue.Optional(true), cue.Patterns(true))
	if err != nil {
		in.note(v.Pos(), "%s", sourceText(v))
		return &shape.Object{Open: true, Unlisted: true}
	}
	in, frame := in.push(s.literals, c)
	// Finish needs all fields, so it comes last.
	defer func() { in.put(frame.Finish(o, static{r, in})...) }()
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
		// Definitions and hidden fields are no fields of an instance.
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
	// Guards that may add anything leave the struct open.
	o.Open = c != nil && (c.Open || c.Deep)
	o.Unlisted = o.Open
	r.rest(o, v, patterns, in)
	if !o.Open && o.Values == nil {
		// A closed struct rejects fields that can't be present without listing
		// them.
		o.Fields = slices.DeleteFunc(o.Fields, func(f shape.Field) bool { return len(f.Shape) == 0 })
	}
	if c != nil && c.Attributed.IsValid() {
		r.fail(errors.Newf(c.Attributed, "%s: @%s: an attribute can't depend on a condition", in.path, syntax.AttributeName))
	}
	// These fields are in the bodies of ifs only, so CUE's evaluation doesn't
	// list them.
	for _, name := range c.Names() {
		if len(s.declarations(name)) > 0 && !o.Open {
			continue // it is listed, or can't be present
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

// onlyGuarded reports whether a field is present only because the guard of an if
// holds without any input. For {x: *false | bool, if !x {y: 1}} CUE's evaluation
// has the field y, but an instance with x: true has none.
func (r *reader) onlyGuarded(in context, it *cue.Iterator, c *syntax.Guarded) bool {
	if !c.Touches(it.Selector().Unquoted()) {
		return false
	}
	parts, dropped := r.conjuncts(in, it.Value())
	return len(parts) == 0 && dropped
}

// guardedShape returns the shape of a field that only ifs declare, each with one
// of the expressions. Open means that the struct admits the field even if no
// guard holds. The result admits what any of the expressions admits. It is
// [shape.Any] if one of them can't be read exactly.
func (r *reader) guardedShape(in context, exprs []ast.Expr, open bool) shape.Shape {
	if open {
		return shape.Any() // outside of its guard the field may be anything
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
