package read

import (
	"cuelang.org/go/cue"

	"github.com/pequod-io/pequod/internal/schema/shape"
)

// bound reads a comparison with arg, such as >=arg. For >=1 it returns the
// numbers with the minimum 1, and for !=null the kinds that CUE gives.
func (r *reader) bound(v cue.Value, op cue.Op, arg cue.Value, in context) shape.Shape {
	// A parameter that the schema leaves open may be given by what uses it.
	if r.dependsOnInput(arg) || !arg.IsConcrete() && kindsOfValue(arg) != shape.BottomKind {
		in.note(v.Pos(), "the bound by another field")
		return r.comparableTo(in, arg, op)
	}
	kinds := shape.OfKinds(kindsOfValue(v))
	l, ok := literalOf(arg)
	if !ok {
		in.note(v.Pos(), "%s", sourceText(v))
		return kinds
	}
	t := shape.Term{}
	switch {
	case l.Number != nil:
		t = shape.Term{Kind: shape.NumberKind}
		at := &shape.Limit{At: l.Number, Exclusive: op == cue.LessThanOp || op == cue.GreaterThanOp}
		switch op {
		case cue.GreaterThanOp, cue.GreaterThanEqualOp:
			t.Numbers.Min = at
		case cue.LessThanOp, cue.LessThanEqualOp:
			t.Numbers.Max = at
		default:
			t.Numbers.Not = []shape.Literal{l}
		}
	case l.String != nil:
		t = shape.Term{Kind: shape.StringKind}
		switch {
		// CUE has compiled the expression with the same library.
		case op == cue.RegexMatchOp:
			t.Strings.Patterns = []string{*l.String}
		case op == cue.NotRegexMatchOp:
			t.Strings.NotPatterns = []string{*l.String}
		// !="" is written as a minimal length, which a schema expresses directly.
		case op == cue.NotEqualOp && *l.String == "":
			t.Strings.Min = new(int64(1))
		case op == cue.NotEqualOp:
			t.Strings.Not = []shape.Literal{l}
		default:
			in.note(v.Pos(), "%s", sourceText(v))
		}
	case string(l.JSON) == "null":
		return kinds // null is not among the kinds
	default:
		in.note(v.Pos(), "%s", sourceText(v))
		return kinds
	}
	if op == cue.NotEqualOp {
		// Values of other kinds differ from the literal, too.
		var rest shape.Shape
		for _, k := range kinds {
			if k.Kind != t.Kind && k.Kind&t.Kind == 0 {
				rest = append(rest, k)
			}
		}
		return shape.Union(shape.Intersect(kinds, shape.Shape{t}), rest)
	}
	return shape.Intersect(kinds, shape.Shape{t})
}

// comparableTo returns the shape of the values that op can compare with arg, a
// reference to another field. An ordering compares numbers with numbers and
// strings with strings; anything differs from anything.
func (r *reader) comparableTo(in context, arg cue.Value, op cue.Op) shape.Shape {
	if in.lenient {
		return shape.Any()
	}
	switch op {
	case cue.NotEqualOp:
		return shape.Any()
	case cue.RegexMatchOp, cue.NotRegexMatchOp:
		return shape.OfKinds(shape.StringKind | shape.BytesKind)
	}
	switch kinds := r.operandKind(in, arg); {
	case kinds&^shape.NumberKind == 0:
		return shape.OfKinds(shape.NumberKind)
	case kinds == shape.StringKind:
		return shape.OfKinds(shape.StringKind)
	}
	return shape.Any()
}
