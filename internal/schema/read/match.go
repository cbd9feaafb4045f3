package read

import (
	"math/big"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
	"github.com/pequod-io/pequod/internal/schema/translate"
)

// match reads a call of matchN or matchIf as a check. It reports false for calls
// that it can't read exactly. The shape of the result is as narrow as the members
// allow, apart from the check: for matchN(>0, [...]) a value must be in one of
// the members.
func (r *reader) match(v cue.Value, name string, args []cue.Value, in context) (shape.Shape, bool) {
	c := shape.Check{Text: sourceText(v)}
	var members []cue.Value
	switch {
	case name == "matchN" && len(args) == 3:
		count := r.shape(args[1], in, nil)
		if len(count) != 1 || count[0].Kind&shape.NumberKind == 0 {
			return nil, false
		}
		c.Count = count[0].Numbers
		if l := count[0].Value; l != nil {
			at := &shape.Limit{At: l.Number}
			c.Count = shape.Numbers{Min: at, Max: at}
		}
		list, err := args[2].List()
		if err != nil {
			return nil, false
		}
		for list.Next() {
			members = append(members, list.Value())
		}
	case name == "matchIf" && len(args) == 4:
		c.Branch, members = true, args[1:]
	default:
		return nil, false
	}
	// A value that leaves something of a member incomplete matches it, and
	// members are open unless they are definitions.
	each, notes := in.across(translate.Segment{Barrier: true}).capture()
	each.matching, each.closed, each.open = true, false, false
	known := true
	for _, m := range members {
		s, ok := r.candidate(m, each)
		known = known && ok
		c.Shapes = append(c.Shapes, s)
	}
	if !known || len(c.Shapes) == 0 {
		return nil, false
	}
	if !c.Branch && isChoice(c) {
		in.put(*notes...)
		return shape.Union(c.Shapes...), true
	}
	// A check counts matches, so a member that was read too wide could reject
	// what CUE accepts.
	if len(*notes) > 0 {
		return nil, false
	}
	s := shape.Shape{{Kind: shape.TopKind, Checks: []shape.Check{c}}}
	switch {
	case c.Branch:
		return shape.Intersect(shape.Union(shape.Intersect(c.Shapes[0], c.Shapes[1]), c.Shapes[2]).OfWhole(), s), true
	// A value that is in none of the members may pass.
	case c.Count.Admits(shape.Literal{Number: new(big.Rat)}):
		return s, true
	}
	return shape.Intersect(shape.Union(c.Shapes...).OfWhole(), s), true
}

// isChoice reports whether c holds for the scalars that are in any of its shapes:
// as matchN(>=1, [int, string]) does, and matchN(1, [int, string]), because no
// value is in both.
func isChoice(c shape.Check) bool {
	count := func(n int) bool { return c.Count.Admits(shape.Literal{Number: big.NewRat(int64(n), 1)}) }
	disjoint := true
	for i, s := range c.Shapes {
		if s.OfWhole().IsAnything() || shape.KindsOf(s)&(shape.ListKind|shape.StructKind) != 0 {
			return false
		}
		for _, t := range c.Shapes[:i] {
			disjoint = disjoint && len(shape.Intersect(s, t)) == 0
		}
	}
	for n := range len(c.Shapes) {
		if !count(n+1) && (n == 0 || !disjoint) {
			return false
		}
	}
	return !count(0)
}

// candidate reads a shape that values are matched against. A struct literal is
// open, and so are the structs in it, but a definition that it refers to is
// closed. It reports false if the two can't be told apart. CUE closes definitions
// only. In {#A, b: {c: int}} the fields of #A are closed and b is open, but the
// evaluated struct doesn't show which is which.
func (r *reader) candidate(v cue.Value, in context) (shape.Shape, bool) {
	lit, ok := syntax.Expression(v.Source()).(*ast.StructLit)
	if !ok {
		return r.shape(v, in, nil), true
	}
	refers := false
	ast.Walk(lit, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		refers = refers || ok && id.Node != nil
		return true
	}, nil)
	if refers {
		return nil, false
	}
	in.open = true
	return r.shape(v, in, nil), true
}
