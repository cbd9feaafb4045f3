package read

import (
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"
	"github.com/pequod-io/pequod/internal/problem"
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
	notes problem.List
	err   error
	// open are the literals that are being read, from the outside in.
	open []string
	// conditional are the parts of the source that hold only for some input.
	guarded []syntax.Span
	// at is the field or the reference that is being read.
	at token.Pos
	// closed says that structs are closed unless they end in an ellipsis, as
	// everything in a definition is.
	closed bool
	// loose says that structs are open, whatever they say.
	loose bool
	// matching says that a shape is read to be matched against, so that what it
	// leaves incomplete is not required.
	matching bool
	// floats says that only floats were admitted somewhere.
	floats bool
	// blurred says that the field that is being read is unified with a
	// disjunction. CUE v0.17.1 then forgets that another part of it was computed
	// from what isn't there.
	blurred bool
	// input is the schema, in whose scope its expressions are compiled.
	input cue.Value
	// frames are the structs that are being read, steps what led to here.
	frames   []*translate.Frame
	segments []translate.Segment
	// captured, where it is set, takes the notes.
	captured *[]problem.Problem
	// taken are the values that were taken apart.
	taken map[cue.Value]conjunct
}

// note adds a note at pos, or at the field that is being read if pos is unknown.
func (r *reader) note(pos token.Pos, path, format string, args ...any) {
	if !pos.IsValid() {
		pos = r.at
	}
	r.put(shape.Unenforced(positionOf(pos), path, fmt.Sprintf(format, args...)))
}

// fail keeps the first error.
func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// enter notes that the literals named by key are being read, until the function
// that it returns is called. It reports false if they already are: then the
// value contains itself.
func (r *reader) enter(path, key string) (leave func(), ok bool) {
	if key != "" && slices.Contains(r.open, key) {
		r.fail(errors.Newf(r.at, "%s: the schema contains itself: recursive definitions have no CRD", path))
		return nil, false
	}
	if len(r.open) >= maxDepth {
		r.fail(errors.Newf(r.at, "%s: the schema is nested deeper than %d levels", path, maxDepth))
		return nil, false
	}
	r.open = append(r.open, key)
	return func() { r.open = r.open[:len(r.open)-1] }, true
}

// shape is what v admits. The condition c, which may be nil, is what other
// input may add to v.
func (r *reader) shape(v cue.Value, path string, c *syntax.Guarded) shape.Shape {
	if r.err != nil {
		return shape.Any()
	}
	parts, dropped := r.conjuncts(v)
	validated := slices.ContainsFunc(parts, func(p conjunct) bool { return p.op == cue.CallOp && callee(p.args) != "close" })
	if len(parts) > 1 && !dropped && kindsOfValue(v) == shape.BottomKind && !slices.ContainsFunc(parts, r.mayChange) {
		return nil
	}
	blurred := r.blurred
	defer func() { r.blurred = blurred }()
	r.blurred = blurred || len(parts) > 1 && slices.ContainsFunc(parts, func(p conjunct) bool { return p.op == cue.OrOp || isDisjunction(p.Value) })
	s, wholeStruct, wholeList, depends := shape.Any(), false, false, false
	for _, p := range parts {
		if e := syntax.Expression(p.Source()); e != nil && syntax.DependsOnInput(e) {
			depends = true
			r.share(e)
			if p.isStruct() && (p.op == cue.SelectorOp || p.op == cue.IndexOp) {
				r.note(p.Pos(), path, "that the value equals that of another field")
			}
		}
		switch {
		case r.turns(p.Source()):
			// CUE has what it is by default alone.
			r.note(p.Pos(), path, "what depends on other fields here")
		// Without data, other members than structs may be no member at all.
		case p.isStruct() && isDisjunction(p.Value) && syntax.DependsOnInput(syntax.Expression(p.Source())):
			r.note(p.Pos(), path, "that the value equals that of another field")
			s = shape.Intersect(s, shape.OfKinds(r.kindsAmong(syntax.Expression(p.Source()))))
		// Fields and items are read from the whole, not from its parts: only
		// the whole knows which there are, which are required, and whether
		// there can be others.
		case p.isStruct() && !dropped:
			if !wholeStruct {
				wholeStruct = true
				whole := r.structure(v, path, c)
				if slices.ContainsFunc(parts, func(p conjunct) bool { return syntax.DependsOnInput(syntax.Expression(p.Source())) }) {
					// What another field is, it fills in here.
					whole = whole.Relaxed()
				}
				s = shape.Intersect(s, whole)
			}
		case p.isStruct():
			s = shape.Intersect(s, r.structure(p.Value, path, c.Opaque()))
		case isList(p) && len(parts) > 1 && !validated && !dropped && kindsOfValue(v) == shape.ListKind:
			if !wholeList {
				wholeList = true
				s = shape.Intersect(s, r.list(v, nil, path))
			}
		case isList(p) && validated:
			// CUE v0.17 doesn't close the items of a list literal that is
			// unified with a validator.
			closed := r.closed
			r.closed = false
			s = shape.Intersect(s, r.leaf(p, path, c))
			r.closed = closed
		default:
			s = shape.Intersect(s, r.related(p, path, c))
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
func (r *reader) conjuncts(v cue.Value) (parts []conjunct, dropped bool) {
	if r.isGuarded(v.Source()) {
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
		p, d := r.conjuncts(a)
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
func (r *reader) leaf(v conjunct, path string, c *syntax.Guarded) shape.Shape {
	switch v.op {
	case cue.NoOp:
		if coveredList(v.Value, len(v.args)).Exists() {
			return r.alternatives(v, path, c)
		}
		return r.atom(v.Value, path, c)
	case cue.OrOp:
		return r.alternatives(v, path, c)
	case cue.SelectorOp, cue.IndexOp, cue.SliceOp:
		return r.reference(v.Value, path, c)
	case cue.LessThanOp, cue.LessThanEqualOp, cue.GreaterThanOp, cue.GreaterThanEqualOp,
		cue.NotEqualOp, cue.RegexMatchOp, cue.NotRegexMatchOp:
		if len(v.args) == 1 {
			return r.bound(v.Value, v.op, v.args[0], path)
		}
	case cue.CallOp:
		return r.call(v.Value, v.args, path)
	}
	return r.computed(v.Value, v.op, path)
}

// atom is a literal, a basic type, or a list.
func (r *reader) atom(v cue.Value, path string, c *syntax.Guarded) shape.Shape {
	if lit, ok := syntax.Expression(v.Source()).(*ast.ListLit); ok {
		return r.list(v, lit, path)
	}
	if e := syntax.Expression(v.Source()); syntax.DependsOnInput(e) {
		r.note(v.Pos(), path, "what is computed from other fields")
		return shape.OfKinds(r.kindsAmong(e))
	} else if kindsOfValue(v) == shape.BottomKind && isDisjunction(v) && syntax.AnyFieldRefers(e) {
		// CUE keeps the errors alone of members that fail, some for want of data.
		r.note(v.Pos(), path, "the choice between structs")
		return shape.OfKinds(r.kindsAmong(e))
	}
	switch kind := kindsOfValue(v); kind {
	case shape.ListKind:
		return r.list(v, nil, path)
	case shape.StructKind:
		return r.structure(v, path, c)
	case shape.BytesKind:
		// Neither JSON nor an API server knows bytes: what CUE takes, a
		// binary YAML scalar, reaches the server as a string.
		r.note(v.Pos(), path, "bytes, for which an instance has no notation but YAML's !!binary,")
		return shape.Shape{{Kind: shape.StringKind}}
	default:
		if kind&shape.NumberKind == shape.FloatKind {
			r.floats = true
			if r.matching {
				// An API server doesn't tell 1 from 1.0.
				r.note(v.Pos(), path, "which numbers are floats")
			}
		}
		if l, ok := literalOf(v); ok {
			return shape.Shape{{Kind: kindOf(kindsFrom(v.Kind())), Value: &l}}
		}
		if _, braces := syntax.Expression(v.Source()).(*ast.StructLit); braces && kind == shape.TopKind && r.closed {
			// CUE v0.17.1 closes {_}, whatever it is unified with.
			r.note(v.Pos(), path, "what it holds")
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
			r.note(v.Pos(), path, "%s", name)
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
func (r *reader) alternatives(v conjunct, path string, c *syntax.Guarded) shape.Shape {
	var members []shape.Shape
	structs := false
	for _, m := range v.args {
		if r.conjunctOf(m).isStruct() {
			structs = true
			continue
		}
		r.in(translate.Segment{Barrier: true}, func() { members = append(members, r.shape(m, path, c)) })
	}
	if structs {
		s := r.structure(v.Value, path, c)
		if syntax.DependsOnInput(syntax.Expression(v.Source())) {
			// What another field is, it fills in here.
			s = s.Relaxed()
		}
		members = append(members, s)
	}
	if d := coveredList(v.Value, len(v.args)); d.Exists() {
		r.in(translate.Segment{Barrier: true}, func() { members = append(members, r.list(d, nil, path)) })
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

// isConditional says whether n lies in a part of the source that holds only for
// some input.
func (r *reader) isGuarded(n ast.Node) bool {
	if len(r.guarded) == 0 || syntax.IsNil(n) {
		return false
	}
	return slices.ContainsFunc(r.guarded, func(s syntax.Span) bool { return s.Contains(n.Pos()) })
}
