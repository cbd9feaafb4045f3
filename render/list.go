package render

import (
	"fmt"
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// items reports what is wrong with the items of a list where the schema takes
// one; v is the list with its schema.
func (d *diagnosis) items(p place, schema, v cue.Value, l *ast.ListLit) {
	lists := filter(alternatives(schema), func(v cue.Value) bool { return kindsOf(v)&cue.ListKind != 0 })
	if len(lists) > 1 {
		d.itemsOfUnion(p, l)
		return
	}
	if len(lists) == 1 {
		schema = lists[0]
	}
	fixed := 0
	for schema.LookupPath(cue.MakePath(cue.Index(fixed))).Exists() {
		fixed++
	}
	open := schema.LookupPath(cue.MakePath(cue.AnyIndex)).Exists() || fixed == 0
	switch n := len(l.Elts); {
	case open && n < fixed:
		d.add(p.path, problem.RuleConstraint, d.rulePos(schema), fmt.Sprintf("must have at least %s, not %d", source.Count(fixed, "item"), n), "")
	case !open && n != fixed:
		d.add(p.path, problem.RuleConstraint, d.rulePos(schema), fmt.Sprintf("must have %s, not %d", source.Count(fixed, "item"), n), "")
	}
	before := make([]ast.Expr, fixed)
	for i := range before {
		before[i] = cuesyntax.Any()
	}
	reported := len(d.problems)
	unsure := failedUnion(v)
	for i, e := range l.Elts {
		item := v.LookupPath(cue.MakePath(cue.Index(i)))
		switch {
		case !unsure && item.Exists() && sound(item):
			d.incomplete(p.item(i, l.Elts[:i], l.Elts[i+1:]), item, e)
		case i < fixed:
			d.judge(p.item(i, before[:i], before[i+1:]), e)
		case open:
			// One item is like another, and where it stands makes no difference.
			d.judge(p.item(i, before, nil), e)
		}
	}
	if unsure && len(d.problems) == reported {
		d.itemsOfUnion(p, l) // CUE takes [...string] | [...int] for one, as long as it is empty
	}
}

// itemsOfUnion is for lists of one kind or another: the first item that one of
// them takes tells which was meant.
func (d *diagnosis) itemsOfUnion(p place, l *ast.ListLit) {
	first := slices.IndexFunc(l.Elts, func(e ast.Expr) bool { return sound(d.at(p, ast.NewList(e))) })
	if first < 0 {
		return
	}
	for i, e := range l.Elts {
		if i != first {
			d.judge(p.item(i, l.Elts[first:first+1], nil), e)
		}
	}
}

// judge reports what is wrong with a value that may be right.
func (d *diagnosis) judge(p place, e ast.Expr) {
	if !complete(d.at(p, e)) {
		d.value(p, e)
	}
}

// repeated finds the first item of a list that equals one before it, or gives 0.
func repeated(l *ast.ListLit) int {
	seen := map[string]bool{}
	for i, e := range l.Elts {
		key := exprText(e)
		if seen[key] {
			return i
		}
		seen[key] = true
	}
	return 0
}
