package crdgen

import (
	"fmt"
	"regexp"
	"strings"

	"cuelang.org/go/cue"
)

// sourceText is v in CUE's syntax, on one line.
func sourceText(v cue.Value) string {
	return strings.Join(strings.Fields(fmt.Sprint(v)), " ")
}

// bound is a unary comparison with arg.
func (r *reader) bound(v cue.Value, op cue.Op, arg cue.Value, path string) shape {
	if dependsOnInput(expression(arg.Source())) {
		r.note(v.Pos(), path, "the bound by another field")
		return r.comparableTo(arg, op)
	}
	kinds := ofKinds(v.IncompleteKind())
	l, ok := literalOf(arg)
	if !ok {
		r.note(v.Pos(), path, "%s", sourceText(v))
		return kinds
	}
	t := term{}
	switch {
	case l.number != nil:
		t = term{kind: cue.NumberKind}
		at := &limit{at: l.number, exclusive: op == cue.LessThanOp || op == cue.GreaterThanOp}
		switch op {
		case cue.GreaterThanOp, cue.GreaterThanEqualOp:
			t.num.min = at
		case cue.LessThanOp, cue.LessThanEqualOp:
			t.num.max = at
		default:
			t.num.not = []literal{l}
		}
	case l.string != nil:
		t = term{kind: cue.StringKind}
		switch {
		case op == cue.RegexMatchOp || op == cue.NotRegexMatchOp:
			if _, err := regexp.Compile(*l.string); err != nil {
				r.note(v.Pos(), path, "%s", sourceText(v))
			} else if op == cue.RegexMatchOp {
				t.str.patterns = []string{*l.string}
			} else {
				t.str.notPatterns = []string{*l.string}
			}
		case op == cue.NotEqualOp && *l.string == "":
			t.str.min = ptr(1)
		case op == cue.NotEqualOp:
			t.str.not = []literal{l}
		default:
			r.note(v.Pos(), path, "%s", sourceText(v))
		}
	case string(l.json) == "null":
		return kinds // null is not among them
	case op == cue.NotEqualOp && (string(l.json) == "true" || string(l.json) == "false"):
		other := literal{json: []byte(map[bool]string{true: "false", false: "true"}[string(l.json) == "true"])}
		t = term{kind: cue.BoolKind, value: &other}
	default:
		r.note(v.Pos(), path, "%s", sourceText(v))
		return kinds
	}
	if op == cue.NotEqualOp {
		// Values of other kinds differ, too.
		var rest shape
		for _, k := range kinds {
			if k.kind != t.kind && k.kind&t.kind == 0 {
				rest = append(rest, k)
			}
		}
		return either(both(kinds, shape{t}), rest)
	}
	return both(kinds, shape{t})
}

// comparableTo is what op can compare with the values of arg, a reference to
// another field.
func (r *reader) comparableTo(arg cue.Value, op cue.Op) shape {
	if r.blurred {
		return anything()
	}
	switch op {
	case cue.NotEqualOp:
		return anything()
	case cue.RegexMatchOp, cue.NotRegexMatchOp:
		return ofKinds(cue.StringKind | cue.BytesKind)
	}
	switch kinds := r.operandKind(arg); {
	case kinds&^cue.NumberKind == 0:
		return ofKinds(cue.NumberKind)
	case kinds == cue.StringKind:
		return ofKinds(cue.StringKind)
	}
	return anything()
}

// call is a validator, or the result of a function.
func (r *reader) call(v cue.Value, args []cue.Value, path string) shape {
	name := callee(args)
	for _, a := range args[1:] {
		if dependsOnInput(expression(a.Source())) {
			r.note(v.Pos(), path, "%s of other fields", name)
			if r.blurred {
				return anything()
			}
			if name == "len" {
				return ofKinds(cue.IntKind)
			}
			if t, ok := validator(name, nil); ok {
				return shape{t}
			}
			return anything()
		}
	}
	if l, ok := literalOf(v); ok {
		return shape{{kind: kindOf(v.Kind()), value: &l}}
	}
	if f, ok := formatOf(name); ok && len(args) == 1 {
		return ofFormat(f, v.IncompleteKind())
	}
	if name == "list.UniqueItems" && len(args) == 1 {
		return uniqueItems()
	}
	if name == "time.Format" && len(args) == 2 {
		if l, ok := literalOf(args[1]); ok && l.string != nil {
			if f, ok := layoutFormat(*l.string); ok {
				return ofFormat(f, v.IncompleteKind())
			}
		}
	}
	if s, ok := r.match(v, name, args, path); ok {
		return s
	}
	switch v.IncompleteKind() {
	case cue.BottomKind:
		return nil // error("…") as a member of a disjunction
	case cue.StructKind:
		if name == "close" {
			return r.structure(v, path, nil)
		}
	}
	if len(args) == 2 {
		if l, ok := literalOf(args[1]); ok {
			if t, ok := validator(name, &l); ok {
				return shape{t}
			}
		}
	}
	r.note(v.Pos(), path, "%s", sourceText(v))
	return ofKinds(v.IncompleteKind())
}

// validator is the builtin of that name with its one argument. With no argument
// it admits what the builtin can be applied to.
func validator(name string, arg *literal) (term, bool) {
	t := term{}
	var n *int64
	var s string
	if arg != nil {
		if arg.number != nil && arg.number.IsInt() && arg.number.Num().IsInt64() && arg.number.Sign() >= 0 {
			n = ptr(arg.number.Num().Int64())
		}
		if arg.string != nil {
			s = regexp.QuoteMeta(*arg.string)
		}
	}
	switch name {
	case "strings.MinRunes", "strings.MaxRunes", "strings.HasPrefix", "strings.HasSuffix", "strings.Contains":
		t.kind = cue.StringKind
	case "list.MinItems", "list.MaxItems":
		t.kind, t.list = cue.ListKind, &list{rest: anything()}
	case "struct.MinFields", "struct.MaxFields":
		t.kind, t.object = cue.StructKind, &object{open: true}
	case "math.MultipleOf":
		t.kind = cue.NumberKind
	default:
		return term{}, false
	}
	if arg == nil {
		return t, true
	}
	switch name {
	case "strings.MinRunes":
		t.str.min = n
	case "strings.MaxRunes":
		t.str.max = n
	case "strings.HasPrefix":
		t.str.patterns = []string{"^" + s}
	case "strings.HasSuffix":
		t.str.patterns = []string{s + "$"}
	case "strings.Contains":
		t.str.patterns = []string{s}
	case "list.MinItems":
		t.list.min = n
	case "list.MaxItems":
		t.list.max = n
	case "struct.MinFields":
		t.object.min = n
	case "struct.MaxFields":
		t.object.max = n
	case "math.MultipleOf":
		if arg.number == nil || arg.number.Sign() <= 0 {
			return term{}, false
		}
		t.num.multiples = append(t.num.multiples, arg.number)
		return t, true
	}
	return t, n != nil || arg.string != nil
}

// uniqueItems admits lists without equal items.
func uniqueItems() shape {
	return shape{{kind: cue.ListKind, list: &list{rest: anything(), unique: true}}}
}

func ptr(n int64) *int64 { return &n }
