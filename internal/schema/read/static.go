package read

import (
	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/translate"
)

// staticShape reads an expression that names no field of the instance.
func (r *reader) staticShape(e ast.Expr, closed bool) (shape.Shape, bool) {
	v, ok := r.build(e)
	if !ok {
		return nil, false
	}
	if kindsOfValue(v) == shape.BottomKind {
		return nil, v.Err() != nil
	}
	var s shape.Shape
	before := *r
	r.guarded = nil // it may be from a comprehension's body
	r.segments, r.closed = append(r.segments[:len(r.segments):len(r.segments)], translate.Segment{Barrier: true}), closed
	notes := r.capture(func() { s = r.shape(v, "", nil) })
	r.segments, r.closed, r.guarded = before.segments, before.closed, before.guarded
	return s, len(notes) == 0 && r.err == nil
}

// static answers a translator.
type static struct{ r *reader }

func (s static) Literal(e ast.Expr) (shape.Literal, shape.Kind, bool) {
	v, ok := s.r.build(e)
	if !ok {
		return shape.Literal{}, 0, false
	}
	l, ok := literalOf(v)
	return l, kindOf(kindsFrom(v.Kind())), ok
}

func (s static) IsConcrete(e ast.Expr) (concrete, ok bool) {
	v, ok := s.r.build(e)
	return ok && v.Validate(cue.Concrete(true)) == nil, ok
}

func (s static) Shape(e ast.Expr) (out shape.Shape, floats, ok bool) {
	before := s.r.floats
	s.r.floats = false
	out, ok = s.r.staticShape(e, false)
	floats = s.r.floats
	s.r.floats = before
	return out, floats, ok
}
