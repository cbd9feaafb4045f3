package render

import (
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/api/nearest"
)

// structure reports what is wrong with a mapping where the schema takes one; v is
// the mapping with its schema.
func (d *diagnosis) structure(p place, v cue.Value, s *ast.StructLit) {
	var b branch
	union := failedUnion(v) || len(alternatives(v)) > 1
	if union {
		var ok bool
		if b, ok = d.choose(p, s); !ok {
			return // no branch to hold it to, and said so
		}
	}
	empty := d.at(p, structOf(b.with))
	strange := filter(fieldsOf(s), func(f *ast.Field) bool { return !empty.Allows(cue.Str(labelName(f.Label))) })
	if union || len(strange) > 0 {
		v = d.at(p, structOf(b.with, without(fieldsOf(s), strange)...))
	}
	g := d.sift(p, v, b.with, without(fieldsOf(s), strange))
	for {
		// Fields that a condition makes are known only beside what fulfils it.
		made := filter(strange, func(f *ast.Field) bool { return g.context.Allows(cue.Str(labelName(f.Label))) })
		made = slices.DeleteFunc(made, func(f *ast.Field) bool {
			return notAllowed(child(d.at(p, structOf(b.with, append(slices.Clone(g.right), f)...)), f))
		})
		if len(made) == 0 {
			break
		}
		strange = without(strange, made)
		known := without(fieldsOf(s), strange)
		g = d.sift(p, d.at(p, structOf(b.with, known...)), b.with, known)
	}
	var typos map[string]string
	var names []string
	if len(strange) > 0 {
		names = namesOf(empty, g.context, s)
		typos = d.typos(strange, fieldsOf(s), names)
	}
	beside := slices.Concat(b.with, g.right)
	for _, f := range g.wrong {
		at := p.field(beside, labelName(f.Label))
		if schema := child(g.context, f); schema.Exists() {
			d.against(at, schema, f.Value)
		} else {
			d.value(at, f.Value)
		}
	}
	d.missing(p, g.context, s, typos)
	for _, f := range g.right {
		d.incomplete(p.field(beside, labelName(f.Label)), child(g.context, f), f.Value)
	}
	if len(strange) > 0 {
		d.unknown(p, b, empty, strange, typos, names)
	}
}

// grouped is the fields of a mapping, those that are right beside each other and
// those that aren't, and the value of the right ones with anything in place of
// the others.
type grouped struct {
	right, wrong []*ast.Field
	context      cue.Value
}

// sift parts fields; v is what CUE makes of all of them. Fields that are right
// alone may be wrong together: the one is wrong at which CUE sees the conflict.
func (d *diagnosis) sift(p place, v cue.Value, with, fields []*ast.Field) grouped {
	bad := filter(fields, func(f *ast.Field) bool { return !sound(child(v, f)) })
	if failedUnion(v) {
		// CUE no longer says which field it was.
		bad = filter(fields, func(f *ast.Field) bool { return !sound(d.at(p, structOf(with, f))) })
	}
	right := without(fields, bad)
	value := func(wrong []*ast.Field) cue.Value {
		all := slices.Concat(with, right)
		for _, f := range wrong {
			all = append(all, &ast.Field{Label: f.Label, Value: anything()})
		}
		return d.at(p, structOf(all))
	}
	if len(bad) == 0 {
		if failedUnion(v) {
			v = value(nil)
		}
		return grouped{right, nil, v}
	}
	g := grouped{wrong: bad, context: value(bad)}
	doubtful := filter(bad, func(f *ast.Field) bool { return d.fits(child(g.context, f), f.Value) })
	if len(doubtful) == 0 {
		g.right = right
		return g
	}
	// Some may be wrong only because of others.
	g.wrong = without(bad, doubtful)
	for _, f := range doubtful {
		next := d.at(p, structOf(with, append(slices.Clone(right), f)...))
		if sound(child(next, f)) && !failedUnion(next) {
			right = append(right, f)
		} else {
			g.wrong = append(g.wrong, f)
		}
	}
	g.right, g.context = right, value(g.wrong)
	return g
}

// fits says whether a value could be right, as far as can be told without its
// siblings.
func (d *diagnosis) fits(schema cue.Value, e ast.Expr) bool {
	kinds := kindsOf(schema)
	switch {
	case kinds == cue.BottomKind:
		return true
	case kinds&kindOf(e) == 0:
		return false
	case kindOf(e)&(cue.StructKind|cue.ListKind) != 0:
		return true
	}
	return sound(schema.Unify(d.built.ctx.BuildExpr(e)))
}

// notAllowed says whether a field is one that its struct doesn't have.
func notAllowed(v cue.Value) bool {
	for _, e := range cueErrors(v.Err()) {
		if format, _ := e.Msg(); format == "field not allowed" && len(e.Path()) <= len(v.Path().Selectors()) {
			return true
		}
	}
	return false
}

// without gives the fields that aren't among others.
func without(fields, others []*ast.Field) []*ast.Field {
	return filter(fields, func(f *ast.Field) bool { return !slices.Contains(others, f) })
}

func child(v cue.Value, f *ast.Field) cue.Value {
	return v.LookupPath(cue.MakePath(cue.Str(labelName(f.Label))))
}

// incomplete reports what is missing inside a value that is right so far.
func (d *diagnosis) incomplete(p place, v cue.Value, e ast.Expr) {
	if complete(v) {
		return
	}
	before := len(d.problems)
	switch x := e.(type) {
	case *ast.StructLit:
		if len(alternatives(v)) > 1 {
			d.value(p, e)
			return
		}
		d.missing(p, v, x, nil)
		for _, f := range fieldsOf(x) {
			d.incomplete(p.field(fieldsOf(x), labelName(f.Label)), child(v, f), f.Value)
		}
	case *ast.ListLit:
		for i, item := range x.Elts {
			d.incomplete(p.item(i, x.Elts[:i], x.Elts[i+1:]), v.LookupPath(cue.MakePath(cue.Index(i))), item)
		}
	}
	if len(d.problems) == before {
		d.constraint(v, e, p.path, v)
	}
}

// missing reports fields that the schema wants and the instance lacks, unless a
// slip in another name explains them.
func (d *diagnosis) missing(p place, context cue.Value, s *ast.StructLit, typos map[string]string) {
	explained := map[string]bool{}
	for _, meant := range typos {
		explained[meant] = true
	}
	it, err := context.Fields(cue.Optional(true))
	if err != nil {
		return
	}
	for it.Next() {
		name, v := it.Selector().Unquoted(), it.Value()
		if field(s, name) != nil || explained[name] || !lacks(it) || !sound(v) {
			continue
		}
		hint := ""
		if wants := wanted(v); len(wants) > 0 {
			hint = "it needs " + strings.Join(wants, ", ")
		} else if values := literals(alternatives(v)); len(values) > 1 {
			hint = "one of " + strings.Join(values, ", ")
		}
		d.add(joinPath(p.path, name), RuleRequired, d.rulePos(v), "missing", hint)
	}
}

// lacks says whether a field that isn't given is missing.
func lacks(it *cue.Iterator) bool {
	t := it.FieldType()
	return t&cue.RequiredConstraint != 0 || t&cue.OptionalConstraint == 0 && !complete(it.Value())
}

// wanted names the fields that a struct can't do without.
func wanted(v cue.Value) []string {
	if v.IncompleteKind() != cue.StructKind {
		return nil
	}
	var names []string
	it, err := v.Fields(cue.Optional(true))
	if err != nil {
		return nil
	}
	for it.Next() {
		if lacks(it) {
			names = append(names, it.Selector().Unquoted())
		}
	}
	return names
}

// typos gives for each unknown field the one that was probably meant.
func (d *diagnosis) typos(strange, given []*ast.Field, known []string) map[string]string {
	free := slices.DeleteFunc(slices.Clone(known), func(k string) bool {
		return slices.ContainsFunc(given, func(f *ast.Field) bool { return labelName(f.Label) == k })
	})
	typos := map[string]string{}
	for _, f := range strange {
		if meant := nearest.Name(labelName(f.Label), free); meant != "" {
			typos[labelName(f.Label)] = meant
		}
	}
	return typos
}

// unknown reports fields that the schema doesn't have.
func (d *diagnosis) unknown(p place, b branch, empty cue.Value, strange []*ast.Field, typos map[string]string, known []string) {
	patterns := patternsOf(empty)
	for _, f := range strange {
		name := labelName(f.Label)
		q := Problem{Pos: posOf(f.Label.Pos()), Path: joinPath(p.path, name), Rule: RuleUnknown, Message: "unknown field"}
		made, conditional := d.condition(name, empty)
		switch {
		case typos[name] != "":
			q.Hint = nearest.Hint(typos[name], []string{typos[name]})
		case conditional && d.blames(made):
			continue // known, once what is wrong there is right
		case conditional:
			q.RulePos = posOf(made.pos)
			q.Hint = "known only where " + made.text
		case slices.Contains(b.others, name):
			q.Message = b.not
		case len(patterns) > 0 && len(known) == 0:
			q.Message = "unknown key"
			q.Hint = "keys must match " + strings.Join(patterns, " or ")
		case len(known) > 0 && len(known) <= 12:
			q.Hint = "known: " + strings.Join(slices.Concat(known, patterns), ", ")
		}
		d.problems = append(d.problems, q)
	}
}

// namesOf lists the fields that a schema names, and those that conditions add
// beside what an instance gives.
func namesOf(empty, context cue.Value, s *ast.StructLit) []string {
	names := fieldNames(empty)
	for _, name := range fieldNames(context) {
		if field(s, name) == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// fieldNames lists the fields that a schema names, optional ones too.
func fieldNames(schema cue.Value) []string {
	var names []string
	for _, v := range alternatives(schema) {
		it, err := v.Fields(cue.Optional(true))
		if err != nil {
			continue
		}
		for it.Next() {
			names = append(names, it.Selector().Unquoted())
		}
	}
	return names
}

// patternsOf lists the patterns that keys of a map have to match.
func patternsOf(schema cue.Value) []string {
	var patterns []string
	it, err := schema.Fields(cue.Patterns(true))
	if err != nil {
		return nil
	}
	for it.Next() {
		if it.Selector().ConstraintType()&cue.PatternConstraint != 0 {
			patterns = append(patterns, boundText(it.Selector().Pattern()))
		}
	}
	slices.Sort(patterns)
	return patterns
}

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
		d.add(p.path, RuleConstraint, d.rulePos(schema), fmt.Sprintf("must have at least %s, not %d", count(fixed, "item"), n), "")
	case !open && n != fixed:
		d.add(p.path, RuleConstraint, d.rulePos(schema), fmt.Sprintf("must have %s, not %d", count(fixed, "item"), n), "")
	}
	before := make([]ast.Expr, fixed)
	for i := range before {
		before[i] = anything()
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

// fieldSchema gives what a struct's schema says of a field, be it regular,
// optional or by pattern.
func fieldSchema(schema cue.Value, name string) cue.Value {
	for _, sel := range []cue.Selector{cue.Str(name), cue.Str(name).Optional(), cue.AnyString} {
		if v := schema.LookupPath(cue.MakePath(sel)); v.Exists() {
			return v
		}
	}
	return cue.Value{}
}

func filter[T any](list []T, keep func(T) bool) []T {
	var kept []T
	for _, x := range list {
		if keep(x) {
			kept = append(kept, x)
		}
	}
	return kept
}

// fieldsOf gives the fields of data.
func fieldsOf(s *ast.StructLit) []*ast.Field {
	fields := make([]*ast.Field, 0, len(s.Elts))
	for _, e := range s.Elts {
		fields = append(fields, e.(*ast.Field))
	}
	return fields
}
