package diagnose

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// addMissingFields reports the required fields that a struct does not have,
// except those whose name is the correction of a typo, and those whose value is
// computed from a field with a mistake. context is the struct evaluated with its
// valid fields.
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
	// Computed fields come last, because their inputs may be missing, too.
	var computed []computedField
	it, err := context.Fields(cue.Optional(true))
	for err == nil && it.Next() {
		name, v := it.Selector().Unquoted(), it.Value()
		if cuesyntax.Field(s, name) != nil || meant[name] || !isMissing(it) || !isValid(v) {
			continue
		}
		if inputs := d.inputsOf(name, v, context); len(inputs) > 0 {
			computed = append(computed, computedField{name, inputs, v})
			continue
		}
		d.addMissing(loc, name, v)
	}
	suspects := suspectsOf(d.problems, typos)
	for more := true; more; {
		rest := filter(computed, func(f computedField) bool {
			undecided := slices.ContainsFunc(f.inputs, func(n string) bool { return suspects[n] })
			if undecided {
				suspects[f.name] = true // so are the fields that are computed from it
			}
			return !undecided
		})
		computed, more = rest, len(rest) < len(computed)
	}
	for _, f := range computed {
		d.addMissing(loc, f.name, f.value)
	}
}

// computedField is a field that is missing although the module computes it.
type computedField struct {
	name   string
	inputs []string // the names that its value refers to
	value  cue.Value
}

// inputsOf returns the names from which the field v of a struct is computed. Other
// structs of the module may compute a field of the same name.
func (d *diagnosis) inputsOf(name string, v, schema cue.Value) (inputs []string) {
	for _, dep := range d.dependencies.of(d.root, name, schema) {
		if dep.value != nil && isWrittenAt(v, dep.value) {
			inputs = append(inputs, dep.inputs...)
		}
	}
	return inputs
}

// addMissing reports that a field with the value v is missing.
func (d *diagnosis) addMissing(loc location, name string, v cue.Value) {
	hint := ""
	if names := requiredNames(v); len(names) > 0 {
		hint = "it needs " + strings.Join(names, ", ")
	} else if values := literals(alternatives(v)); len(values) > 1 {
		hint = "one of " + strings.Join(values, ", ")
	}
	d.add(fieldpath.Join(loc.path, name), problem.RuleRequired, d.schemaPosition(v), "missing", hint)
}
