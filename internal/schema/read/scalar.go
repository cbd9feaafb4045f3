package read

import (
	"regexp"

	"cuelang.org/go/cue"

	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
)

// bound reads a comparison with arg, such as >=arg. For >=1 it returns the
// numbers with the minimum 1, and for !=null the kinds that CUE gives.
func (r *reader) bound(v cue.Value, op cue.Op, arg cue.Value, in context) shape.Shape {
	if syntax.DependsOnInput(syntax.Expression(arg.Source())) {
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
		case op == cue.RegexMatchOp || op == cue.NotRegexMatchOp:
			if _, err := regexp.Compile(*l.String); err != nil {
				in.note(v.Pos(), "%s", sourceText(v))
			} else if op == cue.RegexMatchOp {
				t.Strings.Patterns = []string{*l.String}
			} else {
				t.Strings.NotPatterns = []string{*l.String}
			}
		// !="" is written as a minimal length, which a schema expresses directly.
		case op == cue.NotEqualOp && *l.String == "":
			t.Strings.Min = Ptr(1)
		case op == cue.NotEqualOp:
			t.Strings.Not = []shape.Literal{l}
		default:
			in.note(v.Pos(), "%s", sourceText(v))
		}
	case string(l.JSON) == "null":
		return kinds // null is not among the kinds
	// A bool that differs from one value equals the other.
	case op == cue.NotEqualOp && (string(l.JSON) == "true" || string(l.JSON) == "false"):
		other := shape.Literal{JSON: []byte(map[bool]string{true: "false", false: "true"}[string(l.JSON) == "true"])}
		t = shape.Term{Kind: shape.BoolKind, Value: &other}
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

// call reads a validator, or the result of a function. The order matters:
// arguments from other fields first, then results that are constant, then the
// validators that have a shape. Anything else is noted.
func (r *reader) call(v cue.Value, args []cue.Value, in context) shape.Shape {
	name := callee(args)
	for _, a := range args[1:] {
		if syntax.DependsOnInput(syntax.Expression(a.Source())) {
			in.note(v.Pos(), "%s of other fields", name)
			if in.lenient {
				return shape.Any()
			}
			if name == "len" {
				return shape.OfKinds(shape.IntKind)
			}
			if t, ok := validator(name, nil); ok {
				return shape.Shape{t}
			}
			return shape.Any()
		}
	}
	if l, ok := literalOf(v); ok {
		return shape.Shape{{Kind: kindOf(kindsFrom(v.Kind())), Value: &l}}
	}
	if f, ok := shape.FormatOf(name); ok && len(args) == 1 {
		return shape.OfFormat(f, kindsOfValue(v))
	}
	if name == "list.UniqueItems" && len(args) == 1 {
		return uniqueItems()
	}
	if name == "time.Format" && len(args) == 2 {
		if l, ok := literalOf(args[1]); ok && l.String != nil {
			if f, ok := shape.LayoutFormat(*l.String); ok {
				return shape.OfFormat(f, kindsOfValue(v))
			}
		}
	}
	if s, ok := r.match(v, name, args, in); ok {
		return s
	}
	switch kindsOfValue(v) {
	case shape.BottomKind:
		return nil // error("…") as a member of a disjunction
	case shape.StructKind:
		if name == "close" {
			return r.structure(v, in, nil)
		}
	}
	if len(args) == 2 {
		if l, ok := literalOf(args[1]); ok {
			if t, ok := validator(name, &l); ok {
				return shape.Shape{t}
			}
		}
	}
	in.note(v.Pos(), "%s", sourceText(v))
	return shape.OfKinds(kindsOfValue(v))
}

// validator returns the term for the builtin called name with one argument.
// Without an argument it returns the values that the builtin can be applied to.
// The table has the builtins that a schema can express. It reports false for all
// others, and for arguments that are neither natural numbers nor strings.
func validator(name string, arg *shape.Literal) (shape.Term, bool) {
	t := shape.Term{}
	var n *int64
	var s string
	if arg != nil {
		if arg.Number != nil && arg.Number.IsInt() && arg.Number.Num().IsInt64() && arg.Number.Sign() >= 0 {
			n = Ptr(arg.Number.Num().Int64())
		}
		if arg.String != nil {
			s = regexp.QuoteMeta(*arg.String)
		}
	}
	switch name {
	case "strings.MinRunes", "strings.MaxRunes", "strings.HasPrefix", "strings.HasSuffix", "strings.Contains":
		t.Kind = shape.StringKind
	case "list.MinItems", "list.MaxItems":
		t.Kind, t.List = shape.ListKind, &shape.List{Rest: shape.Any()}
	case "struct.MinFields", "struct.MaxFields":
		t.Kind, t.Object = shape.StructKind, &shape.Object{Open: true}
	case "math.MultipleOf":
		t.Kind = shape.NumberKind
	default:
		return shape.Term{}, false
	}
	if arg == nil {
		return t, true
	}
	switch name {
	case "strings.MinRunes":
		t.Strings.Min = n
	case "strings.MaxRunes":
		t.Strings.Max = n
	// A prefix is a pattern, with the special characters quoted.
	case "strings.HasPrefix":
		t.Strings.Patterns = []string{"^" + s}
	case "strings.HasSuffix":
		t.Strings.Patterns = []string{s + "$"}
	case "strings.Contains":
		t.Strings.Patterns = []string{s}
	case "list.MinItems":
		t.List.Min = n
	case "list.MaxItems":
		t.List.Max = n
	case "struct.MinFields":
		t.Object.Min = n
	case "struct.MaxFields":
		t.Object.Max = n
	case "math.MultipleOf":
		if arg.Number == nil || arg.Number.Sign() <= 0 {
			return shape.Term{}, false
		}
		t.Numbers.Multiples = append(t.Numbers.Multiples, arg.Number)
		return t, true
	}
	return t, n != nil || arg.String != nil
}

// uniqueItems returns the shape of lists without equal items. The items may be
// anything.
func uniqueItems() shape.Shape {
	return shape.Shape{{Kind: shape.ListKind, List: &shape.List{Rest: shape.Any(), Unique: true}}}
}

// Ptr returns a pointer to n. Limits in shapes and schemas are pointers, since 0
// is a limit, too.
func Ptr(n int64) *int64 { return &n }
