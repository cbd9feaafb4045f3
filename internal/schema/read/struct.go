package read

import (
	"bytes"
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/schema/cuefault"
	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
	"github.com/pequod-io/pequod/internal/schema/translate"
)

// structure reads the structs that v admits: one term, or one for each member of
// a disjunction. The steps: find the source of v, determine the members, read
// each as an object, mark the default, and apply the validators.
func (r *reader) structure(v cue.Value, in context, c *syntax.Guarded) shape.Shape {
	s := r.sourcesOf(in, v, c)
	in, ok := r.enter(in, syntax.KeyOf(s.literals))
	if !ok {
		return shape.Any()
	}
	// Nothing is certain about a value that may be no struct.
	if s.other {
		for _, lit := range s.literals {
			r.share(in, lit)
		}
		for _, n := range s.notes {
			in.note(n.pos, "%s", n.what)
		}
		return shape.Any()
	}
	members := r.members(in, v, s)
	// A rule can't tell to which member a guard belongs.
	if len(members) != 1 {
		for _, n := range s.notes {
			in.note(n.pos, "%s", n.what)
		}
		s.notes = nil
	}
	// The struct is known, but not its members, so any fields are admitted.
	if members == nil {
		for _, lit := range s.literals {
			r.share(in, lit)
		}
		for _, e := range r.expressions(v) {
			r.share(in, e)
		}
		in.note(v.Pos(), "the choice between structs")
		return shape.Shape{{Kind: shape.StructKind, Object: &shape.Object{Open: true, Unlisted: true}}}
	}
	inside := in
	inside.open = in.open || cuefault.OpenMatchedStructs && slices.ContainsFunc(s.calls, func(v cue.Value) bool { return kindsOfValue(v) == shape.TopKind })
	var out shape.Shape
	if len(members) > 1 {
		// Rules of outer structs can't be about a member.
		inside = inside.across(translate.Segment{Barrier: true})
	}
	for _, m := range members {
		out = append(out, shape.Term{Kind: shape.StructKind, Object: r.object(m, inside, s, len(members) > 1)})
	}
	if d, preferred := v.Default(); preferred {
		chosen := defaultMember(members, d)
		for i, t := range out {
			t.Object.Preferred, t.Object.IsDefault = true, i == chosen
		}
		if len(out) < s.ways && d.Validate(cue.Concrete(true)) != nil {
			// CUE takes the default although another member would fit.
			in.note(v.Pos(), "the choice between structs")
		}
	}
	out = shape.Union(out)
	for _, call := range s.calls {
		out = shape.Intersect(out, r.leaf(r.conjunctOf(call), in, c))
	}
	for _, call := range s.memberCalls {
		if kindsOfValue(call) != shape.BottomKind {
			in.note(call.Pos(), "%s", sourceText(call))
		}
	}
	return out
}

// members returns the structs that v may be. The result is nil if they can't be
// determined. CUE's evaluation usually has them all. If it has fewer than the
// source, either a default covers another member or members failed without data.
func (r *reader) members(in context, v cue.Value, s *sources) []cue.Value {
	members := structMembers(v)
	s.ways = max(s.ways, syntax.LiteralMembers(syntax.Expression(v.Source())))
	switch {
	case len(s.dropped) > 0:
		return r.withDefault(in, v, members, s)
	case len(members) < s.ways:
		return r.survivors(in, v, s)
	}
	return members
}

// withDefault returns members together with the default that CUE dropped. The
// result is nil if that default can't be determined. It can be determined if one
// disjunction lost one member, and at most one member is marked with *, which
// must be a literal.
func (r *reader) withDefault(in context, v cue.Value, members []cue.Value, s *sources) []cue.Value {
	d, ok := v.Default()
	all := syntax.MembersOf(s.dropped[0])
	if !ok || len(s.dropped) > 1 || kindsOfValue(d) != shape.StructKind || len(members) != len(all)-1 || syntax.AnyFieldRefers(s.dropped[0]) {
		return nil
	}
	var marked []*ast.UnaryExpr
	for _, m := range all {
		if x, ok := m.(*ast.UnaryExpr); ok && x.Op == token.MUL {
			marked = append(marked, x)
		}
	}
	if len(marked) > 1 {
		return nil // the default may be any of them, or what they have in common
	}
	for _, x := range marked {
		lit, ok := x.X.(*ast.StructLit)
		if !ok {
			return nil
		}
		r.scan(in, lit, lit.Elts, s)
	}
	return append([]cue.Value{d}, members...)
}

// defaultMember returns the index of the member that the default d is, if its
// value is complete whatever an instance adds, and -1 otherwise. A member whose
// JSON is that of the default is the default. If two are, neither is certain.
func defaultMember(members []cue.Value, d cue.Value) int {
	want, err := d.MarshalJSON()
	if err != nil {
		return -1
	}
	// Equal members are compared by JSON, because values have no identity across
	// evaluations.
	found := -1
	for i, m := range members {
		if own, err := m.MarshalJSON(); err != nil || !bytes.Equal(own, want) {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	return found
}

// structMembers returns the structs among the members of v's disjunction after
// evaluation, or v itself. Members of other kinds are left out.
func structMembers(v cue.Value) []cue.Value {
	e := v.Eval()
	op, args := e.Expr()
	switch {
	case op == cue.OrOp:
		return slices.DeleteFunc(args, func(m cue.Value) bool { return kindsOfValue(m) != shape.StructKind })
	case op == cue.NoOp && len(args) == 1 && args[0] != e && kindsOfValue(args[0]) == shape.StructKind:
		return args
	}
	return []cue.Value{v}
}

// survivors returns the members of v's disjunctions if CUE evaluates to fewer
// members than the source has. The result is nil if they can't be determined: CUE
// drops members that contradict a default, which an instance can override, and
// members that look alike until there is data. The members of the source are only
// a safe answer if the source is one disjunction, and not nested.
func (r *reader) survivors(in context, v cue.Value, s *sources) []cue.Value {
	e := syntax.Expression(v.Source())
	if slices.ContainsFunc(s.literals, syntax.AnyFieldRefers) || syntax.AnyFieldRefers(e) {
		return nil
	}
	// Without calls, no member can have failed for want of data.
	evaluated := structMembers(v)
	if len(evaluated) >= r.alive(in, v) && !slices.ContainsFunc(s.literals, syntax.Calls) && !syntax.Calls(e) {
		return evaluated
	}
	if whole := r.conjunctOf(v); whole.op == cue.OrOp {
		var out []cue.Value
		for _, m := range whole.args {
			if inner := r.conjunctOf(m); inner.op == cue.OrOp {
				return nil
			} else if inner.isStruct() {
				out = append(out, m)
			}
		}
		return out
	}
	return nil
}

// alive returns the number of ways in which v's disjunctions can be resolved
// without a contradiction. It unifies each member with the whole, so it is called
// only if members are missing.
func (r *reader) alive(in context, v cue.Value) int {
	s := &sources{counting: true}
	_, alive := r.collect(in, v, v, s, false, 0)
	return alive
}

// alternatives reads a disjunction as the union of its members. Structs are read
// together, because their fields are merged; all other members are read one by
// one.
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
			// The other field supplies what this one requires.
			s = s.Relaxed()
		}
		members = append(members, s)
	}
	if d := coveredList(v.Value, len(v.args)); d.Exists() {
		members = append(members, r.list(d, nil, in.across(translate.Segment{Barrier: true})))
	}
	return shape.Union(members...)
}
