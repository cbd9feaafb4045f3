package monitor

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pequod-io/pequod/api/expression"
	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Expressions are the expressions of a Monitor, with what the spec leaves to a default.
type Expressions struct {
	// State yields the state of an answer, whose variables are Env.
	State string
	Env   *reference.Variables
	// When has the condition of each rule in their order. An empty one is always true.
	When []string

	// variable is the variable of Env.
	variable string
}

// Compile returns the expressions of a Monitor, or all errors that the CRD can't find. The text of
// each error begins with its field.
func Compile(m *v1alpha1.MonitorSpec) (*Expressions, error) { return compile(m, true) }

// CheckPart returns the errors of Compile for a Monitor whose probe or state is known only in the
// cluster: without those that compare rules with the query.
func CheckPart(m *v1alpha1.MonitorSpec) error {
	_, err := compile(m, false)
	return err
}

// compile is Compile. queried tells whether rules are compared with the query.
func compile(m *v1alpha1.MonitorSpec, queried bool) (*Expressions, error) {
	found := durations(m)
	x := &Expressions{}
	switch probe := m.Probe; {
	case probe.GraphQL != nil:
		x.variable, x.Env, x.State = "data", expression.Data(), "data"
	case probe.HTTP != nil:
		x.variable, x.Env, x.State = "response", expression.Response(), "response.status"
	case probe.Object != nil:
		x.variable, x.Env, x.State = "object", expression.Object(), "object.status"
	default:
		return nil, errors.New("spec.probe: exactly one of graphql, http and object is required")
	}
	if m.State != "" {
		x.State = string(m.State)
	}
	if err := expression.Check(x.Env, x.State); err != nil {
		found = append(found, fmt.Errorf("spec.state: %w", err))
	}
	for i, rule := range m.Rules {
		when, errs := compileRule(m.Target, rule)
		for _, err := range errs {
			found = append(found, fmt.Errorf("spec.rules[%d] (%s): %w", i, rule.Name, err))
		}
		x.When = append(x.When, when)
	}
	if m.Probe.GraphQL != nil && len(found) == 0 && queried {
		found = x.checkQuery(m)
	}
	return x, errors.Join(found...)
}

// compileRule returns the condition of a rule, or the errors of the rule.
func compileRule(target *v1alpha1.MonitorTarget, rule v1alpha1.MonitorRule) (string, []error) {
	when := string(rule.When)
	if t := rule.Trigger; t != nil {
		var err error
		if when, err = condition(t); err != nil {
			return "", []error{err}
		}
	}
	var found []error
	if when != "" {
		if err := expression.Check(expression.Rule(), when); err != nil {
			found = append(found, fmt.Errorf("when: %w", err))
		}
	}
	for i, do := range rule.Do {
		for _, err := range checkReaction(target, do) {
			found = append(found, fmt.Errorf("do[%d]: %w", i, err))
		}
	}
	return when, found
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
