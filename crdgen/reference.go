package crdgen

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
)

// mayChange says whether a conjunct that fails may not fail with data: whether it
// is more than scalars.
func (r *reader) mayChange(p conjunct) bool {
	e := expression(p.Source())
	return e == nil || p.isStruct() || isList(p) || dependsOnInput(e) || p.IncompleteKind()&(cue.ListKind|cue.StructKind) != 0
}

// related reads a conjunct. What it says about other fields waits to become a
// rule.
func (r *reader) related(p conjunct, path string, c *condition) shape {
	e := expression(p.Source())
	if e == nil || !dependsOnInput(e) {
		return r.leaf(p, path, c)
	}
	var s shape
	notes := r.capture(func() { s = r.leaf(p, path, c) })
	if call, ok := e.(*ast.CallExpr); ok && isOr(call) || callsAmong(e) {
		// CUE leaves out what fails without input: the call, or the member of a
		// disjunction that it is.
		s = ofKinds(r.kindsAmong(e))
		notes = r.capture(func() { r.note(p.Pos(), path, "what is computed from other fields") })
	}
	if len(notes) > 0 && !r.wait(pending{expr: e, notes: notes}, e) {
		r.put(notes...)
	}
	return s
}

// callsAmong says whether a member of the disjunction e calls a function of other
// fields.
func callsAmong(e ast.Expr) bool {
	x, ok := e.(*ast.BinaryExpr)
	if !ok {
		return false
	}
	return slices.ContainsFunc([]ast.Expr{x.X, x.Y}, func(e ast.Expr) bool {
		_, isCall := expression(e).(*ast.CallExpr)
		return isCall && dependsOnInput(e) || callsAmong(expression(e))
	})
}

// reference is what the value that v refers to admits.
func (r *reader) reference(v cue.Value, path string, c *condition) shape {
	before := r.at
	defer func() { r.at = before }()
	if p := v.Pos(); p.IsValid() {
		r.at = p
	}
	if dependsOnInput(expression(v.Source())) {
		r.note(r.at, path, "that the value equals that of another field")
		return r.referred(v, path)
	}
	d := cue.Dereference(v)
	if d == v {
		d = v.Eval()
		if op, _ := d.Expr(); op == cue.SelectorOp || op == cue.IndexOp || op == cue.SliceOp {
			r.note(r.at, path, "%s", sourceText(v))
			return ofKinds(v.IncompleteKind())
		}
	}
	leave, ok := r.enter(path, "")
	if !ok {
		return anything()
	}
	defer leave()
	return r.shape(d, path, c)
}

// referred is what a value can be that equals the value of another field. For
// structs and lists it is anything: what other input adds to them isn't known
// here.
func (r *reader) referred(v cue.Value, path string) shape {
	d := cue.Dereference(v)
	key := "=" + key(d.Source())
	if d == v || slices.Contains(r.open, key) {
		return anything()
	}
	leave, ok := r.enter(path, key)
	if !ok {
		return anything()
	}
	defer leave()
	if kinds := d.IncompleteKind(); kinds&(cue.ListKind|cue.StructKind) != 0 {
		return anything()
	}
	var s shape
	r.in(step{barrier: true}, func() { s = r.shape(d, path, nil) })
	if len(s) == 0 || kindsOf(s)&(cue.ListKind|cue.StructKind) != 0 {
		return anything()
	}
	return s
}

// computed is the result of an operation.
func (r *reader) computed(v cue.Value, op cue.Op, path string) shape {
	if !dependsOnInput(expression(v.Source())) {
		if l, ok := literalOf(v); ok {
			return shape{{kind: kindOf(v.Kind()), value: &l}}
		}
	}
	r.note(v.Pos(), path, "what is computed from other fields")
	if r.blurred {
		return anything()
	}
	switch op {
	case cue.InterpolationOp:
		return ofKinds(cue.StringKind | cue.BytesKind)
	case cue.EqualOp, cue.NotEqualOp, cue.LessThanOp, cue.LessThanEqualOp, cue.GreaterThanOp, cue.GreaterThanEqualOp,
		cue.RegexMatchOp, cue.NotRegexMatchOp, cue.BooleanAndOp, cue.BooleanOrOp, cue.NotOp:
		return ofKinds(cue.BoolKind)
	case cue.AddOp, cue.SubtractOp, cue.MultiplyOp:
		kinds := cue.BottomKind
		for _, a := range r.conjunctOf(v).args {
			kinds |= r.operandKind(a)
		}
		switch {
		case kinds == cue.IntKind, kinds&^cue.NumberKind == 0:
			return ofKinds(kinds)
		case kinds == cue.StringKind && op == cue.AddOp:
			return ofKinds(kinds)
		}
	}
	return anything()
}

// callee is the name of the builtin that an expression calls, such as
// "strings.MinRunes".
func callee(args []cue.Value) string {
	if len(args) == 0 || !args[0].Exists() {
		return ""
	}
	return strings.TrimSuffix(sourceText(args[0]), "()")
}
