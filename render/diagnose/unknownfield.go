package diagnose

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

// excludedFields are fields that only other branches of a union have.
type excludedFields struct {
	names []string
	// message is the problem's message for them, such as "not allowed beside
	// port".
	message string
}

// addUnknownFields reports fields of a struct that its schema does not have.
// known are the names that it has, and typos those of the unknown fields that
// look like a misspelling. The first explanation that fits is given: a typo, a
// guard, another branch, the pattern of keys, or the list of all known fields if
// it has at most twelve.
//
// Examples of its messages:
//
//	spec.imge: unknown field; did you mean "image"?
//	spec.sla: unknown field; known only where tier == "gold"
//	spec.size: unknown field; known: image, port, replicas
//	spec.cron: unknown field where kind is "queue"
func (d *diagnosis) addUnknownFields(loc location, schema cue.Value, unknown []*ast.Field, known []string, typos map[string]string, excluded excludedFields) {
	patterns := keyPatterns(schema)
	for _, f := range unknown {
		name := cuesyntax.LabelName(f.Label)
		p := problem.Problem{
			Position: cuesyntax.Position(f.Label.Pos()), Path: fieldpath.Join(loc.path, name),
			Rule: problem.RuleUnknown, Message: "unknown field",
		}
		guarded := filter(d.dependencies.of(d.root, name, schema), func(dep dependency) bool { return dep.guard != "" })
		switch {
		case typos[name] != "":
			p.Hint = source.Hint(typos[name], []string{typos[name]})
		case dependOnMistake(guarded, d.problems, typos):
			continue // the field may be known once the guard's mistake is corrected
		case len(guarded) > 0:
			p.Related = cuesyntax.Position(guarded[0].pos)
			p.Hint = "known only where " + guarded[0].guard
		case slices.Contains(excluded.names, name):
			p.Message = excluded.message
		case len(patterns) > 0 && len(known) == 0:
			p.Message = "unknown key"
			p.Hint = "keys must match " + strings.Join(patterns, " or ")
		case len(known) > 0 && len(known) <= 12:
			p.Hint = "known: " + strings.Join(slices.Concat(known, patterns), ", ")
		}
		d.problems = append(d.problems, p)
	}
}

// knownNames returns the names of the fields that a struct may have, sorted:
// those of its schema, and those that guards add for what the instance gives.
// context is the struct evaluated with its valid fields.
func knownNames(schema, context cue.Value, s *ast.StructLit) []string {
	names := FieldNames(schema)
	for _, name := range FieldNames(context) {
		if cuesyntax.Field(s, name) == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// typosOf maps the names of unknown fields to the known names that were
// probably meant. A name that the instance gives anyway was not meant.
func typosOf(unknown, given []*ast.Field, known []string) map[string]string {
	free := slices.DeleteFunc(slices.Clone(known), func(k string) bool {
		return slices.ContainsFunc(given, func(f *ast.Field) bool { return cuesyntax.LabelName(f.Label) == k })
	})
	typos := map[string]string{}
	for _, f := range unknown {
		if meant := source.Nearest(cuesyntax.LabelName(f.Label), free); meant != "" {
			typos[cuesyntax.LabelName(f.Label)] = meant
		}
	}
	return typos
}
