package diagnose

import (
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// addMissingFields reports the required fields that a struct does not have,
// except those whose name is the correction of a typo. context is the struct
// evaluated with its valid fields.
//
// Examples of its messages:
//
//	spec.image: missing
//	spec.database: missing; it needs engine, size
func (d *diagnosis) addMissingFields(loc location, context cue.Value, s *ast.StructLit, typos map[string]string) {
	meant := map[string]bool{}
	for _, name := range typos {
		meant[name] = true
	}
	it, err := context.Fields(cue.Optional(true))
	for err == nil && it.Next() {
		name, v := it.Selector().Unquoted(), it.Value()
		if cuesyntax.Field(s, name) != nil || meant[name] || !isMissing(it) || !isValid(v) {
			continue
		}
		hint := ""
		if names := requiredNames(v); len(names) > 0 {
			hint = "it needs " + strings.Join(names, ", ")
		} else if values := literals(alternatives(v)); len(values) > 1 {
			hint = "one of " + strings.Join(values, ", ")
		}
		d.add(fieldpath.Join(loc.path, name), problem.RuleRequired, d.schemaPosition(v), "missing", hint)
	}
}
