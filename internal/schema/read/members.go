package read

import (
	"bytes"
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
)

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
	if !ok || len(s.dropped) > 1 || kindsOfValue(d) != shape.StructKind || len(members) != len(all)-1 || r.parameters.AnyFieldRefers(s.dropped[0]) {
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
	if slices.ContainsFunc(s.literals, r.parameters.AnyFieldRefers) || r.parameters.AnyFieldRefers(e) {
		return nil
	}
	// Without calls, no member can have failed for want of data.
	evaluated := structMembers(v)
	if len(evaluated) >= r.alive(in, v) && !slices.ContainsFunc(s.literals, syntax.Calls) && !syntax.Calls(e) {
		return evaluated
	}
	return r.listed(v, true)
}

// listed returns the structs among the members that the source of v lists, with those
// of the disjunctions that it refers to. The result is nil if v is no disjunction, or
// if a disjunction in it has members or a default of its own.
func (r *reader) listed(v cue.Value, outermost bool) []cue.Value {
	whole := r.conjunctOf(v)
	if _, preferred := v.Default(); whole.op != cue.OrOp || preferred && !outermost {
		return nil
	}
	var out []cue.Value
	for _, m := range whole.args {
		inner := r.conjunctOf(m)
		if inner.op == cue.OrOp {
			return nil
		}
		if d := cue.Dereference(m); d != m && r.conjunctOf(d).op == cue.OrOp {
			members := r.listed(d, false)
			if members == nil {
				return nil
			}
			out = append(out, members...)
		} else if inner.isStruct() {
			out = append(out, m)
		}
	}
	return out
}

// alive returns the number of ways in which v's disjunctions can be resolved
// without a contradiction. It unifies each member with the whole, so it is called
// only if members are missing.
func (r *reader) alive(in context, v cue.Value) int {
	s := &sources{counting: true}
	_, alive := r.collect(in, v, v, s, false, 0)
	return alive
}
