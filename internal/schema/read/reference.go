package read

import (
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
	"github.com/pequod-io/pequod/internal/schema/translate"
)

// mayChange reports whether a conjunct that fails without data may succeed with
// data. Scalars that don't depend on input don't change. For "a" & "b" it is
// false for both, so the conjunction admits nothing.
func (r *reader) mayChange(p conjunct) bool {
	e := syntax.Expression(p.Source())
	return e == nil || p.isStruct() || isList(p) || syntax.DependsOnInput(e) || kindsOfValue(p)&(shape.ListKind|shape.StructKind) != 0
}

// related reads a conjunct. If it refers to other fields, it waits to become a
// rule. The shape is read as if the reference were unknown, so it is wide; the
// rule narrows it. If no rule can wait, the notes are reported at once.
func (r *reader) related(p conjunct, in context, c *syntax.Guarded) shape.Shape {
	e := syntax.Expression(p.Source())
	if e == nil || !syntax.DependsOnInput(e) {
		return r.leaf(p, in, c)
	}
	quiet, notes := in.capture()
	s := r.leaf(p, quiet, c)
	if call, ok := e.(*ast.CallExpr); ok && syntax.IsOr(call) || syntax.CallsAmong(e) {
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
	if syntax.DependsOnInput(syntax.Expression(v.Source())) {
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

// computed reads the result of an operation. Only its kind can be known if it
// depends on input. For port + 1 with an integer port it returns all integers and
// a note. A lenient context admits anything.
func (r *reader) computed(v cue.Value, op cue.Op, in context) shape.Shape {
	if !syntax.DependsOnInput(syntax.Expression(v.Source())) {
		if l, ok := literalOf(v); ok {
			return shape.Shape{{Kind: kindOf(kindsFrom(v.Kind())), Value: &l}}
		}
	}
	in.note(v.Pos(), "what is computed from other fields")
	if in.lenient {
		return shape.Any()
	}
	switch op {
	case cue.InterpolationOp:
		return shape.OfKinds(shape.StringKind | shape.BytesKind)
	case cue.EqualOp, cue.NotEqualOp, cue.LessThanOp, cue.LessThanEqualOp, cue.GreaterThanOp, cue.GreaterThanEqualOp,
		cue.RegexMatchOp, cue.NotRegexMatchOp, cue.BooleanAndOp, cue.BooleanOrOp, cue.NotOp:
		return shape.OfKinds(shape.BoolKind)
	case cue.AddOp, cue.SubtractOp, cue.MultiplyOp:
		kinds := shape.BottomKind
		for _, a := range r.conjunctOf(v).args {
			kinds |= r.operandKind(in, a)
		}
		switch {
		case kinds == shape.IntKind, kinds&^shape.NumberKind == 0:
			return shape.OfKinds(kinds)
		case kinds == shape.StringKind && op == cue.AddOp:
			return shape.OfKinds(kinds)
		}
	}
	return shape.Any()
}
