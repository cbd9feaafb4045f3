package read

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/schema/cuefault"
	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
)

// shape reads v. C, which may be nil, describes the additions of ifs and fors.
// The steps: take v apart at its &, read each part, and intersect the results.
// The result is empty if v admits nothing.
func (r *reader) shape(v cue.Value, in context, c *syntax.Guarded) shape.Shape {
	if r.err != nil {
		return shape.Any()
	}
	// dropped means that a part was left out because it holds only for some
	// input.
	parts, dropped := r.conjuncts(in, v)
	// One of the parts is a validator, such as list.MinItems(1).
	validated := slices.ContainsFunc(parts, func(p conjunct) bool { return p.op == cue.CallOp && callee(p.args) != "close" })
	// A contradiction between parts that no instance can change admits nothing.
	if len(parts) > 1 && !dropped && kindsOfValue(v) == shape.BottomKind && !slices.ContainsFunc(parts, r.mayChange) {
		return nil
	}
	if kindsOfValue(v)&shape.NumberKind == shape.FloatKind && slices.ContainsFunc(parts, func(p conjunct) bool { return p.op == cue.CallOp && strings.HasPrefix(callee(p.args), "match") }) {
		in.note(v.Pos(), "which numbers are floats") // 1 is one, but matches int in CUE's verdict on 1.0
	}
	in.lenient = in.lenient || cuefault.ForgottenReference && len(parts) > 1 && slices.ContainsFunc(parts, func(p conjunct) bool { return p.op == cue.OrOp || isDisjunction(p.Value) })
	// s is narrowed part by part. wholeStruct and wholeList tell that the struct
	// or list was read as a whole already.
	s, wholeStruct, wholeList, depends := shape.Any(), false, false, false
	for i, p := range parts {
		if chosen, ok := r.lookedUp(p, in); ok {
			// The rest of the whole is evaluated as well with the choice that is
			// made without data.
			depends, dropped = true, true
			s = shape.Intersect(s, chosen)
			parts[i] = conjunct{}
		}
	}
	whole := in
	in.partial = in.partial || len(parts) > 1
	for _, p := range parts {
		if !p.Exists() {
			continue
		}
		if e := syntax.Expression(p.Source()); e != nil && r.parameters.DependsOnInput(e) {
			depends = true
			share(in, e)
			if p.isStruct() && (p.op == cue.SelectorOp || p.op == cue.IndexOp) {
				in.note(p.Pos(), "that the value equals that of another field")
			}
		}
		switch {
		case r.turns(p.Source()):
			// CUE evaluates the struct only for its defaults.
			in.note(p.Pos(), "what depends on other fields here")
		// Without data, members that aren't structs may be missing from the
		// evaluation.
		case p.isStruct() && isDisjunction(p.Value) && r.dependsOnInput(p):
			in.note(p.Pos(), "that the value equals that of another field")
			s = shape.Intersect(s, shape.OfKinds(r.kindsAmong(syntax.Expression(p.Source()))))
		// Fields and items are read from the whole value, not from its
		// conjuncts: only the whole knows which fields there are, which are
		// required, and whether there can be others.
		case p.isStruct() && !dropped:
			if !wholeStruct {
				wholeStruct = true
				all := r.structure(v, whole, c)
				if slices.ContainsFunc(parts, func(p conjunct) bool { return r.dependsOnInput(p) }) {
					// The other field supplies what this one requires.
					all = all.Relaxed()
				}
				s = shape.Intersect(s, all)
			}
		// A part was dropped, so the whole may have fields that only guards add.
		// This part is read by itself, and anything may be added to it.
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
			// The other field may have fields of its own.
			o := *t.Object
			o.Unlisted = true
			s[i].Object = &o
		}
	}
	return s
}

// leaf reads one conjunct. A conjunct is a disjunction, a reference, a bound, a
// call, another operation, or none of these. The operation tells which.
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
	// With one operand these are bounds, as in >=1. With two they are
	// comparisons, whose result is a bool; computed reads those.
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

// atom reads a literal, a basic type, or a value that has no expression.
// Validators without arguments, such as time.Time or list.UniqueItems, are
// values, too.
func (r *reader) atom(v cue.Value, in context, c *syntax.Guarded) shape.Shape {
	if lit, ok := syntax.Expression(v.Source()).(*ast.ListLit); ok {
		return r.list(v, lit, in)
	}
	if e := syntax.Expression(v.Source()); r.parameters.DependsOnInput(e) {
		in.note(v.Pos(), "what is computed from other fields")
		return shape.OfKinds(r.kindsAmong(e))
	} else if kindsOfValue(v) == shape.BottomKind && isDisjunction(v) && r.parameters.AnyFieldRefers(e) {
		// CUE keeps only the errors of members that fail, some of them for want
		// of data.
		in.note(v.Pos(), "the choice between structs")
		return shape.OfKinds(r.kindsAmong(e))
	}
	switch kind := kindsOfValue(v); kind {
	case shape.ListKind:
		return r.list(v, nil, in)
	case shape.StructKind:
		return r.structure(v, in, c)
	case shape.BytesKind:
		// Neither JSON nor an API server has bytes. CUE takes a binary YAML
		// scalar, which reaches the server as a string.
		in.note(v.Pos(), "bytes, for which an instance has no notation but YAML's !!binary,")
		return shape.Shape{{Kind: shape.StringKind}}
	default:
		if kind&shape.NumberKind == shape.FloatKind {
			if in.floats != nil {
				*in.floats = true
			}
			if in.matching {
				// An API server doesn't distinguish 1 from 1.0.
				in.note(v.Pos(), "which numbers are floats")
			}
		}
		if s, ok := literalShape(v); ok {
			return s
		}
		if _, braces := syntax.Expression(v.Source()).(*ast.StructLit); cuefault.ClosedTop && braces && kind == shape.TopKind && in.closed {
			in.note(v.Pos(), "what it holds")
		}
		if isBasicType(v) {
			return shape.OfKinds(kind)
		}
		name := strings.TrimSuffix(sourceText(v), "()")
		if s, ok := builtin(name, kind); ok {
			return s
		}
		// It is a validator that the reader doesn't know.
		if kind != shape.BottomKind {
			in.note(v.Pos(), "%s", name)
		}
		return shape.OfKinds(kind)
	}
}

// isBasicType reports whether v is a type that admits all values of its kind, as
// opposed to a validator. string and number are types; strings.MinRunes(1) and
// time.Time are validators. A reference to string counts, too, since its text is
// the same.
func isBasicType(v cue.Value) bool {
	if id, ok := syntax.Expression(v.Source()).(*ast.Ident); ok && id.Node == nil && slices.Contains(syntax.BasicTypes(), id.Name) {
		return true
	}
	return slices.Contains(syntax.BasicTypes(), sourceText(v))
}

// call reads a validator, or the result of a function. The order matters:
// arguments from other fields first, then results that are constant, then the
// validators that have a shape. Anything else is noted.
func (r *reader) call(v cue.Value, args []cue.Value, in context) shape.Shape {
	name := callee(args)
	for _, a := range args[1:] {
		if r.dependsOnInput(a) {
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
	if s, ok := literalShape(v); ok {
		return s
	}
	if s, ok := builtin(name, kindsOfValue(v)); ok && len(args) == 1 {
		return s
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
