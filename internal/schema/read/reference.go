package read

import (
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
	"github.com/pequod-io/pequod/internal/schema/translate"
)

// related reads a conjunct. If it refers to other fields, it waits to become a
// rule. The shape is read as if the reference were unknown, so it is wide; the
// rule narrows it. If no rule can wait, the notes are reported at once.
func (r *reader) related(p conjunct, in context, c *syntax.Guarded) shape.Shape {
	e := syntax.Expression(p.Source())
	if e == nil || !r.parameters.DependsOnInput(e) {
		return r.leaf(p, in, c)
	}
	quiet, notes := in.capture()
	s := r.leaf(p, quiet, c)
	lost := p.op != cue.OrOp || len(p.args) < len(syntax.MembersOf(e))
	if call, ok := e.(*ast.CallExpr); ok && syntax.IsOr(call) || r.parameters.CallsAmong(e, lost) {
		// CUE leaves out what fails without input: the call, or the member of
		// the disjunction that it is.
		s = shape.OfKinds(r.kindsAmong(e))
		*notes = in.noteOf(p.Pos(), "what is computed from other fields")
	}
	if len(*notes) > 0 && !in.wait(translate.Pending{Expr: e, Notes: *notes}, e) {
		in.put(*notes...)
	}
	return s
}

// reference reads the value that v refers to. A reference to a definition or a
// hidden field is read like its value. A reference to a field of the instance
// depends on data.
func (r *reader) reference(v cue.Value, in context, c *syntax.Guarded) shape.Shape {
	if p := v.Pos(); p.IsValid() {
		in.pos = p
	}
	if r.dependsOnInput(v) {
		in.note(in.pos, "that the value equals that of another field")
		return r.referred(v, in)
	}
	d := cue.Dereference(v)
	if d == v {
		d = v.Eval()
		if op, _ := d.Expr(); op == cue.SelectorOp || op == cue.IndexOp || op == cue.SliceOp {
			in.note(in.pos, "%s", sourceText(v))
			return shape.OfKinds(kindsOfValue(v))
		}
	}
	in, ok := r.enter(in, "")
	if !ok {
		return shape.Any()
	}
	return r.shape(d, in, c)
}

// referred returns the shape of a field that equals another field. It is
// [shape.Any] for structs and lists, because other input may add to them. The key
// begins with = so that it differs from that of the struct that is being read.
func (r *reader) referred(v cue.Value, in context) shape.Shape {
	d := cue.Dereference(v)
	key := "=" + syntax.Key(d.Source())
	if d == v || slices.Contains(in.enclosing, key) {
		return shape.Any()
	}
	in, ok := r.enter(in, key)
	if !ok {
		return shape.Any()
	}
	if kinds := kindsOfValue(d); kinds&(shape.ListKind|shape.StructKind) != 0 {
		return shape.Any()
	}
	s := r.shape(d, in.across(translate.Segment{Barrier: true}), nil)
	if len(s) == 0 || shape.KindsOf(s)&(shape.ListKind|shape.StructKind) != 0 {
		return shape.Any()
	}
	return s
}

// lookedUp reads a value that other fields choose from a list or a struct, such
// as sizes[tier] and [if tier == "prod" {"large"}, "small" | "medium"][0]. CUE
// evaluates it to the value that is chosen without data. The result admits all
// values that can be chosen, and a note tells so. It reports false if v is nothing
// of that kind.
func (r *reader) lookedUp(v conjunct, in context) (shape.Shape, bool) {
	if v.op != cue.SelectorOp && v.op != cue.IndexOp || !r.dependsOnInput(v) {
		return nil, false
	}
	outer := in
	in, _ = in.across(translate.Segment{Barrier: true}).capture()
	list, isTernary := r.ternary(v)
	values, isTable := r.choices(v)
	if !isTernary && !isTable {
		return nil, false
	}
	share(outer, syntax.Expression(v.Source()))
	outer.note(v.Pos(), "the choice by other fields")
	if isTernary {
		var out shape.Shape
		for _, e := range list {
			s, ok := r.staticShape(in, e, false)
			if !ok {
				return shape.Any(), true
			}
			out = shape.Union(out, s)
		}
		return out.Scalar(), true
	}
	var out shape.Shape
	for _, value := range values {
		out = shape.Union(out, r.shape(value, in, nil))
	}
	// Other input may add to structs and lists.
	return out.Scalar(), true
}

// staticShape reads an expression that names no field of the instance. Closed
// makes its structs closed. It reports false if the shape is not exact. An
// expression that evaluates to an error has the empty shape, which is exact.
func (r *reader) staticShape(in context, e ast.Expr, closed bool) (shape.Shape, bool) {
	v, ok := r.build(e)
	if !ok {
		return nil, false
	}
	if kindsOfValue(v) == shape.BottomKind {
		return nil, v.Err() != nil
	}
	quiet, notes := in.across(translate.Segment{Barrier: true}).capture()
	quiet.path, quiet.closed = "", closed
	quiet.guarded = new([]syntax.Span) // The expression may be in the body of an if, which is marked as guarded.
	s := r.shape(v, quiet, nil)
	return s, len(*notes) == 0 && r.err == nil
}

// static evaluates expressions for package translate. It implements
// [translate.Schema]. It exists so that package translate need not import this
// package.
type static struct {
	// r compiles and reads, and in is the position of the struct whose rules are
	// written.
	r  *reader
	in context
}

// Literal implements [translate.Schema].
func (s static) Literal(e ast.Expr) (shape.Shape, bool) {
	v, ok := s.r.build(e)
	if !ok {
		return nil, false
	}
	return literalShape(v)
}

// IsConcrete implements [translate.Schema].
func (s static) IsConcrete(e ast.Expr) (concrete, ok bool) {
	v, ok := s.r.build(e)
	return ok && v.Validate(cue.Concrete(true)) == nil, ok
}

// Shape implements [translate.Schema].
func (s static) Shape(e ast.Expr) (out shape.Shape, floats, ok bool) {
	in := s.in
	in.floats = &floats
	out, ok = s.r.staticShape(in, e, false)
	return out, floats, ok
}
