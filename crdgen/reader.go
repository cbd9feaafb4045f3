package crdgen

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"
)

// maxDepth bounds the nesting of a schema. Recursion is found where it closes;
// the bound is for schemas that grow without repeating themselves.
const maxDepth = 64

// reader makes shapes of CUE values. After an error it admits anything and
// keeps the first error.
type reader struct {
	notes noteList
	err   error
	// open are the literals that are being read, from the outside in.
	open []string
	// conditional are the parts of the source that hold only for some input.
	conditional []span
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
	frames []*frame
	steps  []step
	// captured, where it is set, takes the notes.
	captured *[]Note
	// taken are the values that were taken apart.
	taken map[cue.Value]conjunct
}

// note adds a note at pos, or at the field that is being read if pos is unknown.
func (r *reader) note(pos token.Pos, path, format string, args ...any) {
	if !pos.IsValid() {
		pos = r.at
	}
	var n noteList
	n.add(pos, path, format, args...)
	r.put(n.list...)
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
func (r *reader) shape(v cue.Value, path string, c *condition) shape {
	if r.err != nil {
		return anything()
	}
	parts, dropped := r.conjuncts(v)
	validated := slices.ContainsFunc(parts, func(p conjunct) bool { return p.op == cue.CallOp && callee(p.args) != "close" })
	if len(parts) > 1 && !dropped && v.IncompleteKind() == cue.BottomKind && !slices.ContainsFunc(parts, r.mayChange) {
		return nil
	}
	blurred := r.blurred
	defer func() { r.blurred = blurred }()
	r.blurred = blurred || len(parts) > 1 && slices.ContainsFunc(parts, func(p conjunct) bool { return p.op == cue.OrOp || isDisjunction(p.Value) })
	s, wholeStruct, wholeList, depends := anything(), false, false, false
	for _, p := range parts {
		if e := expression(p.Source()); e != nil && dependsOnInput(e) {
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
		case p.isStruct() && isDisjunction(p.Value) && dependsOnInput(expression(p.Source())):
			r.note(p.Pos(), path, "that the value equals that of another field")
			s = both(s, ofKinds(r.kindsAmong(expression(p.Source()))))
		// Fields and items are read from the whole, not from its parts: only
		// the whole knows which there are, which are required, and whether
		// there can be others.
		case p.isStruct() && !dropped:
			if !wholeStruct {
				wholeStruct = true
				whole := r.structure(v, path, c)
				if slices.ContainsFunc(parts, func(p conjunct) bool { return dependsOnInput(expression(p.Source())) }) {
					// What another field is, it fills in here.
					whole = whole.relaxed()
				}
				s = both(s, whole)
			}
		case p.isStruct():
			s = both(s, r.structure(p.Value, path, c.opaque()))
		case isList(p) && len(parts) > 1 && !validated && !dropped && v.IncompleteKind() == cue.ListKind:
			if !wholeList {
				wholeList = true
				s = both(s, r.list(v, nil, path))
			}
		case isList(p) && validated:
			// CUE v0.17 doesn't close the items of a list literal that is
			// unified with a validator.
			closed := r.closed
			r.closed = false
			s = both(s, r.leaf(p, path, c))
			r.closed = closed
		default:
			s = both(s, r.related(p, path, c))
		}
	}
	for i, t := range s {
		if t.kind == cue.StructKind && depends {
			// What another field is may have fields of its own.
			o := *t.object
			o.unread = true
			s[i].object = &o
		}
	}
	return s
}

// isList says whether v is a list literal.
func isList(v conjunct) bool {
	_, ok := expression(v.Source()).(*ast.ListLit)
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
	if r.isConditional(v.Source()) {
		return nil, true
	}
	whole := r.conjunctOf(v)
	switch {
	case whole.op == cue.AndOp:
	case v.IncompleteKind() == cue.BottomKind && dependsOnInput(expression(v.Source())):
		// CUE keeps the error alone of what fails for want of data.
		return []conjunct{whole}, false
	case whole.op == cue.NoOp && len(whole.args) == 1 && isDisjunction(v) && dependsOnInput(expression(whole.args[0].Source())):
		// What is left covers the other members only until there is data.
		return []conjunct{whole}, false
	case whole.op == cue.NoOp && coveredList(v, len(whole.args)).Exists():
		return []conjunct{whole}, false
	case whole.op == cue.NoOp && len(whole.args) == 1 && whole.args[0] != v && literalMembers(expression(v.Source())) < 2:
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
	x, ok := expression(v.Source()).(*ast.BinaryExpr)
	return ok && x.Op == token.OR
}

// isStruct says whether v has fields, as opposed to a validator of structs. A
// struct whose comprehensions wait for input has no kind yet.
func (v conjunct) isStruct() bool {
	switch v.IncompleteKind() {
	case cue.StructKind:
	case cue.BottomKind:
		_, ok := expression(v.Source()).(*ast.StructLit)
		return ok
	default:
		return false
	}
	return v.op != cue.CallOp || callee(v.args) == "close"
}

// leaf is what one conjunct admits.
func (r *reader) leaf(v conjunct, path string, c *condition) shape {
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
func (r *reader) atom(v cue.Value, path string, c *condition) shape {
	if lit, ok := expression(v.Source()).(*ast.ListLit); ok {
		return r.list(v, lit, path)
	}
	if e := expression(v.Source()); dependsOnInput(e) {
		r.note(v.Pos(), path, "what is computed from other fields")
		return ofKinds(r.kindsAmong(e))
	} else if v.IncompleteKind() == cue.BottomKind && isDisjunction(v) && anyFieldRefers(e) {
		// CUE keeps the errors alone of members that fail, some for want of data.
		r.note(v.Pos(), path, "the choice between structs")
		return ofKinds(r.kindsAmong(e))
	}
	switch kind := v.IncompleteKind(); kind {
	case cue.ListKind:
		return r.list(v, nil, path)
	case cue.StructKind:
		return r.structure(v, path, c)
	case cue.BytesKind:
		// Neither JSON nor an API server knows bytes: what CUE takes, a
		// binary YAML scalar, reaches the server as a string.
		r.note(v.Pos(), path, "bytes, for which an instance has no notation but YAML's !!binary,")
		return shape{{kind: cue.StringKind}}
	default:
		if kind&cue.NumberKind == cue.FloatKind {
			r.floats = true
			if r.matching {
				// An API server doesn't tell 1 from 1.0.
				r.note(v.Pos(), path, "which numbers are floats")
			}
		}
		if l, ok := literalOf(v); ok {
			return shape{{kind: kindOf(v.Kind()), value: &l}}
		}
		if _, braces := expression(v.Source()).(*ast.StructLit); braces && kind == cue.TopKind && r.closed {
			// CUE v0.17.1 closes {_}, whatever it is unified with.
			r.note(v.Pos(), path, "what it holds")
		}
		if isBasicType(v) {
			return ofKinds(kind)
		}
		name := strings.TrimSuffix(sourceText(v), "()")
		if f, ok := formatOf(name); ok {
			return ofFormat(f, kind)
		}
		if name == "list.UniqueItems" {
			return uniqueItems()
		}
		if kind != cue.BottomKind {
			r.note(v.Pos(), path, "%s", name)
		}
		return ofKinds(kind)
	}
}

// isBasicType says whether v is all of its kind, as opposed to a validator.
func isBasicType(v cue.Value) bool {
	if id, ok := expression(v.Source()).(*ast.Ident); ok && id.Node == nil && slices.Contains(basicTypes(), id.Name) {
		return true
	}
	return slices.Contains(basicTypes(), sourceText(v))
}

// basicTypes are the names of the types that are all of their kind.
func basicTypes() []string {
	return []string{"_", "null", "bool", "int", "float", "number", "string"}
}

// kindOf is the kind of the terms for literals of kind k.
func kindOf(k cue.Kind) cue.Kind {
	if k == cue.FloatKind {
		return cue.NumberKind
	}
	return k
}

// alternatives is the union of a disjunction's members.
func (r *reader) alternatives(v conjunct, path string, c *condition) shape {
	var members []shape
	structs := false
	for _, m := range v.args {
		if r.conjunctOf(m).isStruct() {
			structs = true
			continue
		}
		r.in(step{barrier: true}, func() { members = append(members, r.shape(m, path, c)) })
	}
	if structs {
		s := r.structure(v.Value, path, c)
		if dependsOnInput(expression(v.Source())) {
			// What another field is, it fills in here.
			s = s.relaxed()
		}
		members = append(members, s)
	}
	if d := coveredList(v.Value, len(v.args)); d.Exists() {
		r.in(step{barrier: true}, func() { members = append(members, r.list(d, nil, path)) })
	}
	return either(members...)
}

// coveredList is the default of v if it is a list that CUE leaves out of v's so many
// members because another covers it: the structs in it have values that those in
// the other may wait for.
func coveredList(v cue.Value, members int) cue.Value {
	if !isDisjunction(v) || len(membersOf(expression(v.Source()))) <= members {
		return cue.Value{}
	}
	d, ok := v.Default()
	items, err := d.List()
	if !ok || err != nil {
		return cue.Value{}
	}
	for items.Next() {
		if items.Value().IncompleteKind()&(cue.StructKind|cue.ListKind) != 0 {
			return d
		}
	}
	return cue.Value{}
}
