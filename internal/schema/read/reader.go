package read

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
	"github.com/pequod-io/pequod/internal/schema/cuefault"
	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
	"github.com/pequod-io/pequod/internal/schema/translate"
)

// maxDepth bounds the nesting of a schema. Recursion is found where it closes;
// the bound is for schemas that grow without repeating themselves.
const maxDepth = 64

// reader makes shapes of CUE values. After an error it admits anything and
// keeps the first error.
type reader struct {
	// input is the schema, in whose scope its expressions are compiled.
	input cue.Value
	// err is the first error.
	err error
	// taken are the values that were taken apart.
	taken map[cue.Value]conjunct
}

// fail keeps the first error.
func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// shape is what v admits. The condition c, which may be nil, is what other
// input may add to v.
func (r *reader) shape(v cue.Value, in context, c *syntax.Guarded) shape.Shape {
	if r.err != nil {
		return shape.Any()
	}
	parts, dropped := r.conjuncts(in, v)
	validated := slices.ContainsFunc(parts, func(p conjunct) bool { return p.op == cue.CallOp && callee(p.args) != "close" })
	if len(parts) > 1 && !dropped && kindsOfValue(v) == shape.BottomKind && !slices.ContainsFunc(parts, r.mayChange) {
		return nil
	}
	in.lenient = in.lenient || cuefault.ForgottenReference && len(parts) > 1 && slices.ContainsFunc(parts, func(p conjunct) bool { return p.op == cue.OrOp || isDisjunction(p.Value) })
	s, wholeStruct, wholeList, depends := shape.Any(), false, false, false
	for _, p := range parts {
		if e := syntax.Expression(p.Source()); e != nil && syntax.DependsOnInput(e) {
			depends = true
			r.share(in, e)
			if p.isStruct() && (p.op == cue.SelectorOp || p.op == cue.IndexOp) {
				in.note(p.Pos(), "that the value equals that of another field")
			}
		}
		switch {
		case r.turns(p.Source()):
			// CUE has what it is by default alone.
			in.note(p.Pos(), "what depends on other fields here")
		// Without data, other members than structs may be no member at all.
		case p.isStruct() && isDisjunction(p.Value) && syntax.DependsOnInput(syntax.Expression(p.Source())):
			in.note(p.Pos(), "that the value equals that of another field")
			s = shape.Intersect(s, shape.OfKinds(r.kindsAmong(syntax.Expression(p.Source()))))
		// Fields and items are read from the whole, not from its parts: only
		// the whole knows which there are, which are required, and whether
		// there can be others.
		case p.isStruct() && !dropped:
			if !wholeStruct {
				wholeStruct = true
				whole := r.structure(v, in, c)
				if slices.ContainsFunc(parts, func(p conjunct) bool { return syntax.DependsOnInput(syntax.Expression(p.Source())) }) {
					// What another field is, it fills in here.
					whole = whole.Relaxed()
				}
				s = shape.Intersect(s, whole)
			}
		case p.isStruct():
			s = shape.Intersect(s, r.structure(p.Value, in, c.Opaque()))
		case isList(p) && len(parts) > 1 && !validated && !dropped && kindsOfValue(v) == shape.ListKind:
			if !wholeList {
				wholeList = true
				s = shape.Intersect(s, r.list(v, nil, in))
			}
		case isList(p) && validated && cuefault.OpenValidatedItems:
			open := in
			open.closed = false
			s = shape.Intersect(s, r.leaf(p, open, c))
		default:
			s = shape.Intersect(s, r.related(p, in, c))
		}
	}
	for i, t := range s {
		if t.Kind == shape.StructKind && depends {
			// What another field is may have fields of its own.
			o := *t.Object
			o.Unlisted = true
			s[i].Object = &o
		}
	}
	return s
}

// isList says whether v is a list literal.
func isList(v conjunct) bool {
	_, ok := syntax.Expression(v.Source()).(*ast.ListLit)
	return ok && v.op == cue.NoOp
}

// conjunct is a value and its expression, which is costly to take apart twice.
type conjunct struct {
	cue.Value
	op   cue.Op
	args []cue.Value
}

func (r *reader) conjunctOf(v cue.Value) conjunct {
	c, ok := r.taken[v]
	if !ok {
		op, args := v.Expr()
		c = conjunct{Value: v, op: op, args: args}
		if r.taken == nil {
			r.taken = map[cue.Value]conjunct{}
		}
		r.taken[v] = c
	}
	return c
}

// conjuncts takes v apart at its ands. Those that hold only for some input are
// left out; dropped says whether there were any.
func (r *reader) conjuncts(in context, v cue.Value) (parts []conjunct, dropped bool) {
	if in.isGuarded(v.Source()) {
		return nil, true
	}
	whole := r.conjunctOf(v)
	switch {
	case whole.op == cue.AndOp:
	case kindsOfValue(v) == shape.BottomKind && syntax.DependsOnInput(syntax.Expression(v.Source())):
		// CUE keeps the error alone of what fails for want of data.
		return []conjunct{whole}, false
	case whole.op == cue.NoOp && len(whole.args) == 1 && isDisjunction(v) && syntax.DependsOnInput(syntax.Expression(whole.args[0].Source())):
		// What is left covers the other members only until there is data.
		return []conjunct{whole}, false
	case whole.op == cue.NoOp && coveredList(v, len(whole.args)).Exists():
		return []conjunct{whole}, false
	case whole.op == cue.NoOp && len(whole.args) == 1 && whole.args[0] != v && syntax.LiteralMembers(syntax.Expression(v.Source())) < 2:
		// A disjunction of which one member is left beside its default.
	default:
		return []conjunct{whole}, false
	}
	for _, a := range whole.args {
		p, d := r.conjuncts(in, a)
		parts = append(parts, p...)
		dropped = dropped || d
	}
	return parts, dropped
}

// isDisjunction says whether the source of v is a disjunction.
func isDisjunction(v cue.Value) bool {
	x, ok := syntax.Expression(v.Source()).(*ast.BinaryExpr)
	return ok && x.Op == token.OR
}

// isStruct says whether v has fields, as opposed to a validator of structs. A
// struct whose comprehensions wait for input has no kind yet.
func (v conjunct) isStruct() bool {
	switch kindsOfValue(v) {
	case shape.StructKind:
	case shape.BottomKind:
		_, ok := syntax.Expression(v.Source()).(*ast.StructLit)
		return ok
	default:
		return false
	}
	return v.op != cue.CallOp || callee(v.args) == "close"
}

// leaf is what one conjunct admits.
func (r *reader) leaf(v conjunct, in context, c *syntax.Guarded) shape.Shape {
	switch v.op {
	case cue.NoOp:
		if coveredList(v.Value, len(v.args)).Exists() {
			return r.alternatives(v, in, c)
		}
		return r.atom(v.Value, in, c)
	case cue.OrOp:
		return r.alternatives(v, in, c)
	case cue.SelectorOp, cue.IndexOp, cue.SliceOp:
		return r.reference(v.Value, in, c)
	case cue.LessThanOp, cue.LessThanEqualOp, cue.GreaterThanOp, cue.GreaterThanEqualOp,
		cue.NotEqualOp, cue.RegexMatchOp, cue.NotRegexMatchOp:
		if len(v.args) == 1 {
			return r.bound(v.Value, v.op, v.args[0], in)
		}
	case cue.CallOp:
		return r.call(v.Value, v.args, in)
	}
	return r.computed(v.Value, v.op, in)
}

// atom is a literal, a basic type, or a list.
func (r *reader) atom(v cue.Value, in context, c *syntax.Guarded) shape.Shape {
	if lit, ok := syntax.Expression(v.Source()).(*ast.ListLit); ok {
		return r.list(v, lit, in)
	}
	if e := syntax.Expression(v.Source()); syntax.DependsOnInput(e) {
		in.note(v.Pos(), "what is computed from other fields")
		return shape.OfKinds(r.kindsAmong(e))
	} else if kindsOfValue(v) == shape.BottomKind && isDisjunction(v) && syntax.AnyFieldRefers(e) {
		// CUE keeps the errors alone of members that fail, some for want of data.
		in.note(v.Pos(), "the choice between structs")
		return shape.OfKinds(r.kindsAmong(e))
	}
	switch kind := kindsOfValue(v); kind {
	case shape.ListKind:
		return r.list(v, nil, in)
	case shape.StructKind:
		return r.structure(v, in, c)
	case shape.BytesKind:
		// Neither JSON nor an API server knows bytes: what CUE takes, a
		// binary YAML scalar, reaches the server as a string.
		in.note(v.Pos(), "bytes, for which an instance has no notation but YAML's !!binary,")
		return shape.Shape{{Kind: shape.StringKind}}
	default:
		if kind&shape.NumberKind == shape.FloatKind {
			if in.floats != nil {
				*in.floats = true
			}
			if in.matching {
				// An API server doesn't tell 1 from 1.0.
				in.note(v.Pos(), "which numbers are floats")
			}
		}
		if l, ok := literalOf(v); ok {
			return shape.Shape{{Kind: kindOf(kindsFrom(v.Kind())), Value: &l}}
		}
		if _, braces := syntax.Expression(v.Source()).(*ast.StructLit); cuefault.ClosedTop && braces && kind == shape.TopKind && in.closed {
			in.note(v.Pos(), "what it holds")
		}
		if isBasicType(v) {
			return shape.OfKinds(kind)
		}
		name := strings.TrimSuffix(sourceText(v), "()")
		if f, ok := shape.FormatOf(name); ok {
			return shape.OfFormat(f, kind)
		}
		if name == "list.UniqueItems" {
			return uniqueItems()
		}
		if kind != shape.BottomKind {
			in.note(v.Pos(), "%s", name)
		}
		return shape.OfKinds(kind)
	}
}

// isBasicType says whether v is all of its kind, as opposed to a validator.
func isBasicType(v cue.Value) bool {
	if id, ok := syntax.Expression(v.Source()).(*ast.Ident); ok && id.Node == nil && slices.Contains(syntax.BasicTypes(), id.Name) {
		return true
	}
	return slices.Contains(syntax.BasicTypes(), sourceText(v))
}

// alternatives is the union of a disjunction's members.
func (r *reader) alternatives(v conjunct, in context, c *syntax.Guarded) shape.Shape {
	var members []shape.Shape
	structs := false
	for _, m := range v.args {
		if r.conjunctOf(m).isStruct() {
			structs = true
			continue
		}
		members = append(members, r.shape(m, in.across(translate.Segment{Barrier: true}), c))
	}
	if structs {
		s := r.structure(v.Value, in, c)
		if syntax.DependsOnInput(syntax.Expression(v.Source())) {
			// What another field is, it fills in here.
			s = s.Relaxed()
		}
		members = append(members, s)
	}
	if d := coveredList(v.Value, len(v.args)); d.Exists() {
		members = append(members, r.list(d, nil, in.across(translate.Segment{Barrier: true})))
	}
	return shape.Union(members...)
}

// coveredList is the default of v if it is a list that CUE leaves out of v's so many
// members because another covers it: the structs in it have values that those in
// the other may wait for.
func coveredList(v cue.Value, members int) cue.Value {
	if !isDisjunction(v) || len(syntax.MembersOf(syntax.Expression(v.Source()))) <= members {
		return cue.Value{}
	}
	d, ok := v.Default()
	items, err := d.List()
	if !ok || err != nil {
		return cue.Value{}
	}
	for items.Next() {
		if kindsOfValue(items.Value())&(shape.StructKind|shape.ListKind) != 0 {
			return d
		}
	}
	return cue.Value{}
}
