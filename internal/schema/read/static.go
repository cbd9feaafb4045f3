package read

import (
	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
	"github.com/pequod-io/pequod/internal/schema/translate"
)

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
func (s static) Literal(e ast.Expr) (shape.Literal, shape.Kind, bool) {
	v, ok := s.r.build(e)
	if !ok {
		return shape.Literal{}, 0, false
	}
	l, ok := literalOf(v)
	return l, kindOf(kindsFrom(v.Kind())), ok
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
