package forecast

import (
	_ "embed"
	"encoding/json"
	"strings"
	"sync"
)

// Rule is one row of the table of consequences.
type Rule struct {
	// Kind is Kind for the core group, and group/Kind for others. "*" is every kind.
	Kind string `json:"kind"`
	// Field is a path of map keys with dots between them. The rule holds for the field
	// and everything below it, unless a rule for a longer path holds. It is empty for
	// the whole object, if it is added or removed.
	Field string `json:"field,omitempty"`
	// When is the condition of the rule; see [Conditions]. Of the rules for one field,
	// the first one holds whose condition is met.
	When string `json:"when,omitempty"`
	// Effect is generated from measurements, or from Source.
	Effect Effect `json:"effect"`
	Reason string `json:"reason"`
	// Cases are the names of the measurements that show the effect.
	Cases []string `json:"cases,omitempty"`
	// Source is the place in Kubernetes that defines an effect that isn't measured.
	Source string `json:"source,omitempty"`
}

// ID identifies the rule in [Consequence.Rule].
func (r Rule) ID() string {
	id := r.Kind
	if r.Field != "" {
		id += " " + r.Field
	}
	if r.When != "" {
		id += " when " + r.When
	}
	return id
}

// Table is a list of rules. Its methods don't change it.
type Table []Rule

//go:embed rules.json
var rules []byte

// Rules returns the built-in table. The caller must not change it.
func Rules() Table { return builtin() }

var builtin = sync.OnceValue(func() Table {
	var t Table
	if err := json.Unmarshal(rules, &t); err != nil {
		panic("review/forecast/rules.json: " + err.Error()) // a test reads the file
	}
	return t
})

// field returns the rule that holds for a field of a kind: the first one whose
// condition is met, of those with the longest path. It returns false if there is none.
func (t Table) field(kind string, at *subject) (Rule, detail, bool) {
	keys := at.leaf.keys
	if kind == "ConfigMap" || kind == "Secret" {
		// All three have values, which the API server and kubelets treat alike.
		if keys[0] == "stringData" || keys[0] == "binaryData" {
			keys = append([]string{"data"}, keys[1:]...)
		}
	}
	for _, k := range []string{kind, "*"} {
		for n := len(keys); n > 0; n-- {
			if r, d, ok := t.first(k, strings.Join(keys[:n], "."), at); ok {
				return r, d, true
			}
		}
	}
	return Rule{}, detail{}, false
}

// first returns the first rule of a kind and field whose condition is met.
func (t Table) first(kind, field string, at *subject) (Rule, detail, bool) {
	for _, r := range t {
		if r.Kind != kind || r.Field != field {
			continue
		}
		if d, ok := meets(at, r.When); ok {
			return r, d, true
		}
	}
	return Rule{}, detail{}, false
}
