package read

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
	"github.com/pequod-io/pequod/internal/schema/translate"
)

// mayChange says whether a conjunct that fails may not fail with data: whether it
// is more than scalars.
func (r *reader) mayChange(p conjunct) bool {
	e := syntax.Expression(p.Source())
	return e == nil || p.isStruct() || isList(p) || syntax.DependsOnInput(e) || kindsOfValue(p)&(shape.ListKind|shape.StructKind) != 0
}

// related reads a conjunct. What it says about other fields waits to become a
// rule.
func (r *reader) related(p conjunct, path string, c *syntax.Guarded) shape.Shape {
	e := syntax.Expression(p.Source())
	if e == nil || !syntax.DependsOnInput(e) {
		return r.leaf(p, path, c)
	}
	var s shape.Shape
	notes := r.capture(func() { s = r.leaf(p, path, c) })
	if call, ok := e.(*ast.CallExpr); ok && syntax.IsOr(call) || syntax.CallsAmong(e) {
		// CUE leaves out what fails without input: the call, or the member of a
		// disjunction that it is.
		s = shape.OfKinds(r.kindsAmong(e))
		notes = r.capture(func() { r.note(p.Pos(), path, "what is computed from other fields") })
	}
	if len(notes) > 0 && !r.wait(translate.Pending{Expr: e, Notes: notes}, e) {
		r.put(notes...)
	}
	return s
}

// reference is what the value that v refers to admits.
func (r *reader) reference(v cue.Value, path string, c *syntax.Guarded) shape.Shape {
	before := r.at
	defer func() { r.at = before }()
	if p := v.Pos(); p.IsValid() {
		r.at = p
	}
	if syntax.DependsOnInput(syntax.Expression(v.Source())) {
		r.note(r.at, path, "that the value equals that of another field")
		return r.referred(v, path)
	}
	d := cue.Dereference(v)
	if d == v {
		d = v.Eval()
		if op, _ := d.Expr(); op == cue.SelectorOp || op == cue.IndexOp || op == cue.SliceOp {
			r.note(r.at, path, "%s", sourceText(v))
			return shape.OfKinds(kindsOfValue(v))
		}
	}
	leave, ok := r.enter(path, "")
	if !ok {
		return shape.Any()
	}
	defer leave()
	return r.shape(d, path, c)
}

// referred is what a value can be that equals the value of another field. For
// structs and lists it is anything: what other input adds to them isn't known
// here.
func (r *reader) referred(v cue.Value, path string) shape.Shape {
	d := cue.Dereference(v)
	key := "=" + syntax.Key(d.Source())
	if d == v || slices.Contains(r.open, key) {
		return shape.Any()
	}
	leave, ok := r.enter(path, key)
	if !ok {
		return shape.Any()
	}
	defer leave()
	if kinds := kindsOfValue(d); kinds&(shape.ListKind|shape.StructKind) != 0 {
		return shape.Any()
	}
	var s shape.Shape
	r.in(translate.Segment{Barrier: true}, func() { s = r.shape(d, path, nil) })
	if len(s) == 0 || shape.KindsOf(s)&(shape.ListKind|shape.StructKind) != 0 {
		return shape.Any()
	}
	return s
}

// computed is the result of an operation.
func (r *reader) computed(v cue.Value, op cue.Op, path string) shape.Shape {
	if !syntax.DependsOnInput(syntax.Expression(v.Source())) {
		if l, ok := literalOf(v); ok {
			return shape.Shape{{Kind: kindOf(kindsFrom(v.Kind())), Value: &l}}
		}
	}
	r.note(v.Pos(), path, "what is computed from other fields")
	if r.blurred {
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
			kinds |= r.operandKind(a)
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

// callee is the name of the builtin that an expression calls, such as
// "strings.MinRunes".
func callee(args []cue.Value) string {
	if len(args) == 0 || !args[0].Exists() {
		return ""
	}
	return strings.TrimSuffix(sourceText(args[0]), "()")
}
