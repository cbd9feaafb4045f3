package monitor

import (
	"fmt"
	"strings"

	"github.com/pequod-io/pequod/api/expression"
	"github.com/pequod-io/pequod/api/query"
	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// checkQuery checks a query, and that it selects what the expressions read.
func (x *Expressions) checkQuery(m *v1alpha1.MonitorSpec) []error {
	q, err := query.Parse(m.Probe.GraphQL.Query)
	if err != nil {
		return []error{fmt.Errorf("spec.probe.graphql.query: %w", err)}
	}
	var found []error
	check := func(where string, path []any) {
		if field := q.Missing(path); field != "" {
			found = append(found, fmt.Errorf("%s reads %s, which the query doesn't select", where, field))
		}
	}
	read := expression.Selects(x.Env, x.State, x.variable)
	for _, path := range read {
		check("spec.state", path)
	}
	if strings.TrimSpace(x.State) == x.variable {
		read = []reference.Path{{}} // all of it
	}
	// The fields of the state are those of the query only if the state is one of its fields.
	if len(read) != 1 || strings.TrimSpace(x.State) != strings.Join(append([]string{x.variable}, names(read[0])...), ".") {
		return found
	}
	for i, rule := range m.Rules {
		expressions := []string{x.When[i]}
		for _, do := range rule.Do {
			if do.HTTP != nil {
				expressions = append(expressions, string(do.HTTP.Body))
			}
		}
		for _, expr := range expressions {
			if expr == "" {
				continue
			}
			for _, of := range []string{"state", "old"} {
				for _, path := range expression.Selects(expression.Rule(), expr, of) {
					check(fmt.Sprintf("spec.rules[%d] (%s)", i, rule.Name), append(append([]any{}, read[0]...), path...))
				}
			}
		}
	}
	return found
}

// names returns the keys of a path that are names.
func names(path []any) []string {
	var all []string
	for _, key := range path {
		if name, ok := key.(string); ok {
			all = append(all, name)
		}
	}
	return all
}
