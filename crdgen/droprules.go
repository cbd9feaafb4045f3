package crdgen

import (
	"slices"
	"strings"

	"github.com/pequod-io/pequod/internal/schema/cel"

	fieldpath "k8s.io/apimachinery/pkg/util/validation/field"
)

// schemaField returns the path that an API server's errors have for the schema of
// version i of n. The validation reports a schema that all versions share in the
// old place for it.
func schemaField(i, n int) string {
	if n == 1 {
		return "spec.validation.openAPIV3Schema"
	}
	return "spec.versions[" + cel.Itoa(int64(i)) + "].schema.openAPIV3Schema"
}

// contributed is the beginning of an API server's error about the total cost of
// all rules, if the error names one of them.
const contributed = "contributed to "

// ofTotal reports whether an error is about the total cost of all rules. There
// are two such errors: one about the total, and up to four about rules that
// contribute to it.
func ofTotal(e *fieldpath.Error) bool {
	return strings.HasPrefix(e.Detail, contributed) || strings.Contains(e.Detail, "rule cost total")
}

// refuse adds the rules that errors are about to refused, except those of the author. Name is the path of the
// schema in the errors. It reports whether it added any. Errors about the total
// cost are ignored: the total may be within the budget once the rules that are
// wrong by themselves are gone. The errors identify rules by position, as in
//
//	spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule
//
// and refuse translates the position to a [ruleKey], which stays valid when other
// rules are dropped.
func (v *version) refuse(schema props, name string, problems fieldpath.ErrorList) bool {
	const rules = ".x-kubernetes-validations"
	// An error is about one rule of a schema, or about all of them.
	one, all := map[string]bool{}, map[string]bool{}
	var defaults []string
	for _, e := range problems {
		if ofTotal(e) {
			continue
		}
		if at, _, isDefault := strings.Cut(e.Field, ".default"); isDefault && strings.HasPrefix(at, name+".") {
			// An API server evaluates rules on defaults before it reports
			// errors in the rules.
			defaults = append(defaults, strings.TrimPrefix(at, name))
			continue
		}
		at, which, found := strings.Cut(e.Field, rules)
		if !found || !strings.HasPrefix(at, name+".") {
			continue
		}
		at = strings.TrimPrefix(at, name)
		if index, _, indexed := strings.Cut(which, "]"); indexed {
			one[at+index+"]"] = true
		} else {
			all[at] = true
		}
	}
	// A rule that is refused already is no longer in the schema, so every hit is
	// new.
	before := len(v.refused)
	walk(schema, "", func(at string, p props) {
		for i, r := range p.XValidations {
			within := func(schema string) bool { return at == schema || strings.HasPrefix(at, schema+".") }
			key := ruleKey{at, r.Rule}
			if !v.own[key] && (all[at] || one[at+"["+cel.Itoa(int64(i))+"]"] || slices.ContainsFunc(defaults, within)) {
				v.refused[key] = true
			}
		}
	})
	return len(v.refused) > before
}

// walk visits a schema and the schemas of its fields, items and values. The order
// of the properties is random. at is the path as in [location].schema.
func walk(p props, at string, visit func(at string, p props)) {
	visit(at, p)
	for name, child := range p.Properties {
		walk(child, at+".properties["+name+"]", visit)
	}
	if p.Items != nil && p.Items.Schema != nil {
		walk(*p.Items.Schema, at+".items", visit)
	}
	if p.AdditionalProperties != nil && p.AdditionalProperties.Schema != nil {
		walk(*p.AdditionalProperties.Schema, at+".additionalProperties", visit)
	}
}
