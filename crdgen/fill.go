package crdgen

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
)

// unless is about a field that must be given unless conditions give it a value.
type unless struct {
	fills fills
	// notes are for where no rule says so.
	notes []Note
}

// fills says when conditions give a field a value that it doesn't have without.
type fills int

const (
	// fillsUnknown is where that can't be told.
	fillsUnknown fills = iota
	fillsNever
	// fillsSometimes is under some conditions, or under several together.
	fillsSometimes
	// fillsAlways is under any of the conditions.
	fillsAlways
)

// maxWays bounds the combinations of conditions that are tried.
const maxWays = 16

// ways are what v, the field of that name, may be without any of the conditions in
// c, then with each of them and with several. It reports false where that can't be
// told.
func (r *reader) ways(v cue.Value, c *condition, name string) ([]cue.Value, bool) {
	if c.open || c.deep || 1<<len(c.fields[name]) > maxWays {
		return nil, false
	}
	parts, _ := r.conjuncts(v)
	if len(parts) == 0 {
		return nil, false
	}
	ways := []cue.Value{parts[0].Value}
	for _, p := range parts {
		if e := expression(p.Source()); e == nil || anyFieldRefers(e) {
			return nil, false
		}
		ways[0] = ways[0].Unify(p.Value)
	}
	for _, e := range c.fields[name] {
		if anyFieldRefers(e) {
			return nil, false
		}
		added, ok := r.build(e)
		if !ok {
			return nil, false
		}
		for _, w := range ways {
			ways = append(ways, w.Unify(added))
		}
	}
	return ways, true
}

// fillsOf says when the conditions give a field a value that may be in these ways.
func fillsOf(ways []cue.Value) fills {
	switch {
	case len(ways) == 0 || isFilled(ways[0]):
		return fillsUnknown
	case !slices.ContainsFunc(ways, isFilled):
		return fillsNever
	}
	// Each condition doubles the ways: that of it alone comes first.
	for i := 1; i < len(ways); i *= 2 {
		if !isFilled(ways[i]) {
			return fillsSometimes
		}
	}
	return fillsAlways
}

func isContradiction(v cue.Value) bool { return v.IncompleteKind() == cue.BottomKind }

func isFilled(v cue.Value) bool { return v.Validate(cue.Concrete(true)) == nil }

// give adds the rule that the field g of o is given unless the conditions under
// which it may have a value hold.
func (f *frame) give(r *reader, o *object, c *condition, g field) {
	at, ok := celField(selfMark, g.name)
	ways := f.allowed[g.name]
	if !ok || g.unless.fills == fillsUnknown || isNullable(g.shape) || !isAccessible(g.shape) || len(ways) == 0 || len(ways) != len(c.fields[g.name]) {
		r.put(g.unless.notes...)
		return
	}
	given := []predicate{{text: "has(" + at + ")", exact: true}}
	var texts []string
	fields := []string{g.name}
	for _, w := range ways {
		fields = append(fields, w.fields...)
		given = append(given, w.when)
		texts = append(texts, strings.TrimPrefix(w.text, "if "))
	}
	q := anyOf(given...)
	o.rules = append(o.rules, rule{
		text: q.text, exact: q.exact && g.unless.fills == fillsAlways, notes: g.unless.notes, fields: fields,
		defaulted: true, message: g.name + " must be given unless " + strings.Join(texts, " or "), field: fieldPath([]string{g.name}),
	})
}
