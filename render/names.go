package render

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

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
		if cuesyntax.Field(s, name) != nil || explained[name] || !lacks(it) || !sound(v) {
			continue
		}
		hint := ""
		if wants := wanted(v); len(wants) > 0 {
			hint = "it needs " + strings.Join(wants, ", ")
		} else if values := literals(alternatives(v)); len(values) > 1 {
			hint = "one of " + strings.Join(values, ", ")
		}
		d.add(fieldpath.Join(p.path, name), problem.RuleRequired, d.rulePos(v), "missing", hint)
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

// typosOf gives for each unknown field the one that was probably meant.
func typosOf(strange, given []*ast.Field, known []string) map[string]string {
	free := slices.DeleteFunc(slices.Clone(known), func(k string) bool {
		return slices.ContainsFunc(given, func(f *ast.Field) bool { return cuesyntax.LabelName(f.Label) == k })
	})
	typos := map[string]string{}
	for _, f := range strange {
		if meant := source.Nearest(cuesyntax.LabelName(f.Label), free); meant != "" {
			typos[cuesyntax.LabelName(f.Label)] = meant
		}
	}
	return typos
}

// unknown reports fields that the schema doesn't have.
func (d *diagnosis) unknown(p place, b branch, empty cue.Value, strange []*ast.Field, typos map[string]string, known []string) {
	patterns := patternsOf(empty)
	for _, f := range strange {
		name := cuesyntax.LabelName(f.Label)
		q := problem.Problem{Position: cuesyntax.Position(f.Label.Pos()), Path: fieldpath.Join(p.path, name), Rule: problem.RuleUnknown, Message: "unknown field"}
		made := filter(d.dependencies(name, empty), func(c condition) bool { return c.text != "" })
		switch {
		case typos[name] != "":
			q.Hint = source.Hint(typos[name], []string{typos[name]})
		case d.blames(made, typos):
			continue // known, perhaps, once what is wrong there is right
		case len(made) > 0:
			q.Related = cuesyntax.Position(made[0].pos)
			q.Hint = "known only where " + made[0].text
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
		if cuesyntax.Field(s, name) == nil {
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
