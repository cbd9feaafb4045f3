package crdgen

import (
	"math/big"
	"slices"
	"strconv"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
)

// check is a demand on a value that counts which shapes it is in: matchN, or
// matchIf with the shapes if, then and else.
type check struct {
	shapes []shape
	// count is how many of the shapes the value must be in.
	count numbers
	// branch says that the check is a matchIf.
	branch bool
	// text is the check in CUE's words.
	text string
}

func (c check) equal(d check) bool {
	return c.text == d.text && slices.EqualFunc(c.shapes, d.shapes, shape.equal)
}

// holds is the predicate that v, declared as declared, passes the check. What
// isn't in one shape may count for another, so each must be told exactly.
func (c check) holds(declared shape, v string) predicate {
	var all []predicate
	for _, s := range c.shapes {
		p := holds(s, declared, v)
		if !p.exact || p.fallible {
			return unknown()
		}
		if p.text == "" {
			p.text = "true"
		}
		all = append(all, p)
	}
	if c.branch {
		return predicate{text: wrap(all[0].text) + " ? " + wrap(all[1].text) + " : " + wrap(all[2].text), exact: true}
	}
	texts := ""
	for i, p := range all {
		if i > 0 {
			texts += ", "
		}
		texts += p.text
	}
	x := variable(texts + v)
	size := "[" + texts + "].filter(" + x + ", " + x + ").size()"
	return term{kind: cue.IntKind, num: c.count}.holdsNumber(false, size)
}

// checksOf are the checks of all terms.
func checksOf(s shape) []check {
	var out []check
	for _, t := range s {
		out = append(out, t.checks...)
	}
	return out
}

// unchecked is s without its checks.
func unchecked(s shape) shape {
	out := slices.Clone(s)
	for i := range out {
		out[i].checks = nil
	}
	return out
}

// match reads matchN and matchIf. It reports false for what it can't read.
func (r *reader) match(v cue.Value, name string, args []cue.Value, path string) (shape, bool) {
	c := check{text: sourceText(v)}
	var members []cue.Value
	switch {
	case name == "matchN" && len(args) == 3:
		count := r.shape(args[1], path, nil)
		if len(count) != 1 || count[0].kind&cue.NumberKind == 0 {
			return nil, false
		}
		c.count = count[0].num
		if l := count[0].value; l != nil {
			at := &limit{at: l.number}
			c.count = numbers{min: at, max: at}
		}
		list, err := args[2].List()
		if err != nil {
			return nil, false
		}
		for list.Next() {
			members = append(members, list.Value())
		}
	case name == "matchIf" && len(args) == 4:
		c.branch, members = true, args[1:]
	default:
		return nil, false
	}
	// What a member leaves incomplete is no mismatch, and it is open unless it
	// is a definition.
	before := *r
	r.matching, r.closed, r.loose = true, false, false
	r.steps = append(slices.Clone(r.steps), step{barrier: true})
	var notes []Note
	r.captured = &notes
	known := true
	for _, m := range members {
		s, ok := r.candidate(m, path)
		known = known && ok
		c.shapes = append(c.shapes, s)
	}
	r.matching, r.closed, r.loose, r.steps, r.captured = before.matching, before.closed, before.loose, before.steps, before.captured
	if !known || len(notes) > 0 || len(c.shapes) == 0 {
		return nil, false
	}
	s := shape{{kind: cue.TopKind, checks: []check{c}}}
	switch {
	case c.branch:
		return both(either(both(c.shapes[0], c.shapes[1]), c.shapes[2]).scalar(), s), true
	case c.count.admits(zero()):
		return s, true
	}
	return both(either(c.shapes...).scalar(), s), true
}

// candidate is a shape that values are matched against. A literal is open, and so
// are those in it; what it refers to is as closed as it says. It reports false
// where the two can't be told apart.
func (r *reader) candidate(v cue.Value, path string) (shape, bool) {
	lit, ok := expression(v.Source()).(*ast.StructLit)
	if !ok {
		return r.shape(v, path, nil), true
	}
	refers := false
	ast.Walk(lit, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		refers = refers || ok && id.Node != nil
		return true
	}, nil)
	r.loose = !refers
	s := r.shape(v, path, nil)
	r.loose = false
	for _, t := range s {
		if t.kind != cue.StructKind || !refers {
			continue
		}
		t.object.open = true
		if slices.ContainsFunc(t.object.fields, func(f field) bool { return kindsOf(f.shape)&cue.StructKind != 0 }) {
			return nil, false
		}
	}
	return s, true
}

// scalar is s if it is all of scalars, else anything: the structs and lists that
// are matched against are never the whole value.
func (s shape) scalar() shape {
	if len(s) == 0 || kindsOf(s)&(cue.ListKind|cue.StructKind) != 0 {
		return anything()
	}
	return s
}

func zero() literal { return literal{json: []byte("0"), number: new(big.Rat)} }

// unsaid is what the note says where a check can't be written.
func (c check) unsaid() string {
	if len(c.text) > maxMessage {
		return shorten(c.text)
	}
	return c.text
}

// itoa writes a count.
func itoa(n int64) string { return strconv.FormatInt(n, 10) }
