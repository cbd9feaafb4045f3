package verdict

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pequod-io/pequod/actions/expression"
	"github.com/pequod-io/pequod/actions/query"
	"github.com/pequod-io/pequod/actions/rules"
	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/lazyregexp"
	"github.com/pequod-io/pequod/internal/problem"
)

// Plan is a Monitor whose fields were checked.
type Plan struct {
	// Interval is the time between two polls, and Timeout limits one.
	Interval, Timeout time.Duration

	namespace, name string
	env             *reference.Variables
	state           string
	rules           []rule
}

// rule is a rule of a Monitor.
type rule struct {
	rules.Rule
	spec v1alpha1.MonitorRule
	when string // "" is always true
}

// Compile returns the plan of a Monitor, or all errors that the CRD can't find.
func Compile(m *v1alpha1.Monitor) (*Plan, error) {
	p := &Plan{
		Interval: Duration(m.Spec.Interval, 30*time.Second), Timeout: Duration(m.Spec.Timeout, 5*time.Second),
		namespace: m.Namespace, name: m.Name,
	}
	found := durations(m)
	variable := ""
	switch probe := m.Spec.Probe; {
	case probe.GraphQL != nil:
		variable, p.env, p.state = "data", expression.Data(), "data"
	case probe.HTTP != nil:
		variable, p.env, p.state = "response", expression.Response(), "response.status"
	case probe.Object != nil:
		variable, p.env, p.state = "object", expression.Object(), "object.status"
	default:
		return nil, errors.New("spec.probe: exactly one of graphql, http and object is required")
	}
	if m.Spec.State != "" {
		p.state = string(m.Spec.State)
	}
	if err := expression.Check(p.env, p.state); err != nil {
		found = append(found, fmt.Errorf("spec.state: %w", err))
	}
	for i, spec := range m.Spec.Rules {
		r, errs := compileRule(m.Spec.Target, spec)
		for _, err := range errs {
			found = append(found, fmt.Errorf("spec.rules[%d] (%s): %w", i, spec.Name, err))
		}
		p.rules = append(p.rules, r)
	}
	if m.Spec.Probe.GraphQL != nil && len(found) == 0 {
		found = p.checkQuery(m.Spec.Probe.GraphQL.Query, variable)
	}
	return p, errors.Join(found...)
}

// fieldAtBegin matches the field with which an error of [Compile] begins.
var fieldAtBegin = lazyregexp.New(`^spec[a-zA-Z0-9.\[\]]*`)

// Problems returns the errors of [Compile], each with its field.
func Problems(err error) problem.List {
	errs := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		errs = joined.Unwrap()
	}
	var found problem.List
	for _, err := range errs {
		text := err.Error()
		path := fieldAtBegin().FindString(text)
		message := strings.TrimLeft(strings.TrimPrefix(text, path), ": ")
		found = append(found, problem.Problem{Path: path, Rule: problem.RuleSchema, Message: message})
	}
	return found
}

// compileRule returns a rule, or its errors.
func compileRule(target *v1alpha1.MonitorTarget, spec v1alpha1.MonitorRule) (rule, []error) {
	r := rule{spec: spec, when: string(spec.When), Rule: rules.Rule{
		On: rules.On(spec.FiresOn), For: Duration(spec.For, 0), Cooldown: Duration(spec.Cooldown, 0),
	}}
	if r.On == "" {
		r.On = rules.Enter
	}
	if l := spec.Limit; l != nil {
		r.Limit, r.Per = int(l.Count), Duration(l.Per, time.Hour)
	}
	var found []error
	if t := spec.Trigger; t != nil {
		expr, err := condition(t)
		if err != nil {
			return r, []error{err}
		}
		r.when = expr
	}
	if r.when != "" {
		if err := expression.Check(expression.Rule(), r.when); err != nil {
			found = append(found, fmt.Errorf("when: %w", err))
		}
	}
	for i, do := range spec.Do {
		for _, err := range checkReaction(target, do) {
			found = append(found, fmt.Errorf("do[%d]: %w", i, err))
		}
	}
	return r, found
}

// condition returns a trigger as an expression.
func condition(t *v1alpha1.MonitorTrigger) (string, error) {
	field := "state." + t.Field
	if t.Condition == "exists" {
		if t.Value != nil {
			return "", errors.New("trigger.value has no meaning with the condition exists")
		}
		return "has(" + field + ")", nil
	}
	if t.Value == nil {
		return "", errors.New("trigger.value is required")
	}
	var value any
	if err := json.Unmarshal(t.Value.Raw, &value); err != nil {
		return "", fmt.Errorf("trigger.value: %w", err)
	}
	literal := string(t.Value.Raw)
	switch v := value.(type) {
	case string:
		literal = quote(v)
	case float64, bool:
	default:
		return "", errors.New("trigger.value must be a string, a number, or true or false")
	}
	switch t.Condition {
	case "equals":
		return field + " == " + literal, nil
	case "not_equals":
		return field + " != " + literal, nil
	case "greater_than":
		return field + " > " + literal, nil
	case "less_than":
		return field + " < " + literal, nil
	case "contains":
		if _, text := value.(string); text {
			return fmt.Sprintf("type(%[1]s) == string ? %[1]s.contains(%[2]s) : %[2]s in %[1]s", field, literal), nil
		}
		return literal + " in " + field, nil
	}
	return "", fmt.Errorf("trigger.condition: %q is unknown", t.Condition)
}

// quote returns a string as a literal of CEL, which has the escapes of JSON but for "/".
func quote(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		return `""` // can't happen: it is a string
	}
	return string(raw)
}

// checkQuery checks a query, and that it selects what the expressions read.
func (p *Plan) checkQuery(text, variable string) []error {
	q, err := query.Parse(text)
	if err != nil {
		return []error{fmt.Errorf("spec.probe.graphql.query: %w", err)}
	}
	var found []error
	check := func(where string, path []any) {
		if field := q.Missing(path); field != "" {
			found = append(found, fmt.Errorf("%s reads %s, which the query doesn't select", where, field))
		}
	}
	read := expression.Selects(p.env, p.state, variable)
	for _, path := range read {
		check("spec.state", path)
	}
	if strings.TrimSpace(p.state) == variable {
		read = []reference.Path{{}} // all of it
	}
	// The fields of the state are those of the query only if the state is one of its fields.
	if len(read) != 1 || strings.TrimSpace(p.state) != strings.Join(append([]string{variable}, names(read[0])...), ".") {
		return found
	}
	for i, r := range p.rules {
		expressions := []string{r.when}
		for _, do := range r.spec.Do {
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
					check(fmt.Sprintf("spec.rules[%d] (%s)", i, r.spec.Name), append(append([]any{}, read[0]...), path...))
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

// Duration returns a duration of the API, whose form the CRD checks.
func Duration(d v1alpha1.Duration, otherwise time.Duration) time.Duration {
	if v, err := time.ParseDuration(string(d)); err == nil {
		return v
	}
	return otherwise
}
