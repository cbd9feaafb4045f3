package read

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/errors"

	"github.com/pequod-io/pequod/internal/schema/cuefault"
	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
	"github.com/pequod-io/pequod/internal/schema/translate"
)

// field reads one field: its shape, whether an instance must have it, and its
// default. Member means that the struct is a member of a disjunction. The shape
// of an optional field that can't be present is empty. The steps: read the shape;
// for an optional field that is all. For a field that guards add to, underGuards
// decides whether it is required. Otherwise a field with ! is required, one
// without a value is required unless other fields supply it, and one with a value
// has a default.
func (r *reader) field(it *cue.Iterator, in context, s *sources, member bool) shape.Field {
	c := s.guarded
	v, name := it.Value(), it.Selector().Unquoted()
	in = in.below("." + name)
	f := shape.Field{Name: name, Description: description(v), Pos: positionOf(in.pos), Attributes: r.attributes(v, in.pos, in)}
	value := in.across(translate.Segment{Field: name})
	value.closers = within(in.closers, cue.Str(name), cue.Str(name).Optional(), cue.Str(name).Required(), cue.AnyString)
	value.lenient = cuefault.ForgottenReference && c != nil && slices.ContainsFunc(c.Fields[name], func(e ast.Expr) bool { return len(syntax.MembersOf(syntax.Expression(e))) > 1 })
	f.Shape = r.shape(v, value, c.Field(name))
	mark := it.FieldType()
	// it.FieldType has the marks of guards that hold without input, too.
	if c.Touches(name) {
		mark = s.markOf(name)
	}
	f.Optional = mark&cue.OptionalConstraint != 0
	if len(f.Shape) == 0 {
		switch {
		case f.Optional:
			f.Shape = r.forbidden(v, in)
			return f
		// A field that is not optional and admits nothing makes the whole struct
		// impossible. For a member of a disjunction that only excludes this
		// member.
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
	// depends means that the value may come from other fields, anyRef that
	// anything in it refers to some, and choice that the instance still has a
	// choice then.
	var depends, anyRef, choice bool
	for _, src := range r.expressions(v) {
		depends = depends || r.parameters.ValueDependsOnInput(src)
		choice = choice || r.parameters.ValueDependsOnInput(src) && (syntax.IsOpenChoice(src) || syntax.Defaults(src) > 0 && syntax.MayBeAbsent(src))
		anyRef = anyRef || r.parameters.AnyDependsOnInput(src)
	}
	if mark&cue.RequiredConstraint != 0 {
		f.Required = true
		return f
	}
	// If the instance leaves a regular field out, it has the value v. Unless
	// other input completes v, CUE rejects the instance if v isn't concrete.
	complete := v.Validate(cue.Concrete(true)) == nil
	if choice || !complete && depends && f.Shape.HasRequired() {
		in.note(in.pos, "that the field is given")
	}
	if !complete {
		f.Required = !depends && !in.matching
		return f
	}
	_, chosen := v.Default()
	// A default that other fields influence is left to rendering.
	if !anyRef && !c.Touches(name) && (chosen || !f.Shape.IsAnything()) {
		f.Default = defaultOf(v)
		// A default that reads differently once it is set is left to rendering,
		// too.
		if !isSettled(v, f.Default) {
			f.Default = nil
		}
	}
	return f
}

// underGuards determines whether f must be given if ifs add more than bounds to
// it. If it need not be, the frame gets a [translate.Unless], from which package
// translate makes the rule that the field must be given unless a guard supplies
// it.
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

// checkParameters finds the definitions and hidden fields of the struct v whose
// values the schema leaves open although v computes with them. They are parameters
// without an argument. It notes the parameters that no instance gives a value, and
// those that may be given values that their declarations don't admit, a second
// default, or the value of an absent field.
func (r *reader) checkParameters(v cue.Value, in context, s *sources) {
	it, err := v.Fields(cue.Definitions(true), cue.Hidden(true), cue.Optional(true))
	if err != nil {
		return
	}
	operands := syntax.HiddenOperands(s.literals)
	quiet, _ := in.across(translate.Segment{Barrier: true}).capture()
	quiet.frames = nil // no rule is about a parameter
	failed := r.err
	for it.Next() {
		name := strings.TrimRight(it.Selector().String(), "?!")
		if !syntax.IsHidden(name) {
			continue
		}
		if operands[name] && !it.Value().IsConcrete() {
			r.parameters[name] = true
		}
		parts, _ := r.conjuncts(in, it.Value())
		if !slices.ContainsFunc(parts, func(p conjunct) bool { return r.dependsOnInput(p) }) {
			open := it.Value().Err() != nil || r.parameters[name] && !it.Value().IsConcrete() && !in.partial
			if mark := it.FieldType(); mark&cue.RequiredConstraint != 0 || mark&cue.OptionalConstraint == 0 && open {
				in.note(it.Value().Pos(), "what %s demands", name)
			}
			continue
		}
		preferred := slices.ContainsFunc(s.declarations(name), func(f *ast.Field) bool { return syntax.Defaults(f.Value) > 0 })
		given, declared := shape.Any(), shape.Any()
		for _, p := range parts {
			if part := r.shape(p.Value, quiet, nil); r.dependsOnInput(p) {
				given = shape.Intersect(given, part)
			} else {
				declared = shape.Intersect(declared, part)
			}
		}
		absent := slices.ContainsFunc(parts, func(p conjunct) bool { return r.dependsOnInput(p) && syntax.MayBeAbsent(syntax.Expression(p.Source())) })
		if absent || len(parts) > 1 && preferred || !declared.IsAnything() && !given.CoveredBy(declared) {
			in.note(it.Value().Pos(), "what %s demands of other fields", name)
		}
	}
	// What can't be read is no parameter of the instance's fields.
	r.err = failed
}

// forbidden returns the shape of an optional field that CUE evaluates to an
// error; see cuefault.ForbiddenEmbedding. Other errors mean that the field
// can't be present.
func (r *reader) forbidden(v cue.Value, in context) shape.Shape {
	if err := v.Err(); !cuefault.ForbiddenEmbedding || err == nil || !strings.Contains(err.Error(), "not allowed") {
		return nil
	}
	if e := syntax.Expression(v.Source()); e != nil && !r.parameters.AnyFieldRefers(e) {
		if s, ok := r.staticShape(in, e, in.closed); ok {
			return s
		}
	}
	in.note(in.pos, "what the field holds")
	return shape.Any()
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
		if r.parameters.AnyFieldRefers(e) {
			return shape.Any()
		}
		s, ok := r.staticShape(in, e, in.closed && len(exprs) == 1)
		if !ok || len(s) == 0 {
			return shape.Any()
		}
		out = shape.Merge(out, s)
	}
	return out
}
