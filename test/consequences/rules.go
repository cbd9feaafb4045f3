package consequences

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/review/forecast"
)

// template is an entry of rules.yaml: rules for several kinds without their effects.
type template struct {
	Kinds  []string `json:"kinds"`
	Field  string   `json:"field"`
	When   string   `json:"when"`
	Reason string   `json:"reason"`
	// Quiet is the effect if nothing is seen in the measurements.
	Quiet forecast.Effect `json:"quiet"`
	// Effect is that of a rule that can't be measured, and Source its place in
	// Kubernetes.
	Effect forecast.Effect `json:"effect"`
	Source string          `json:"source"`
}

// rule is a rule whose effect isn't known yet.
type rule struct {
	forecast.Rule
	quiet, fixed forecast.Effect
}

// readRules reads rules.yaml.
func readRules(dir string) ([]rule, error) {
	raw, err := os.ReadFile(filepath.Join(dir, "rules.yaml"))
	if err != nil {
		return nil, err
	}
	var templates []template
	if err := decode(raw, &templates); err != nil {
		return nil, fmt.Errorf("rules.yaml: %w", err)
	}
	var rules []rule
	for _, t := range templates {
		for _, kind := range t.Kinds {
			rules = append(rules, rule{
				Rule:  forecast.Rule{Kind: kind, Field: t.Field, When: t.When, Reason: t.Reason, Source: t.Source},
				quiet: t.Quiet, fixed: t.Effect,
			})
		}
	}
	return rules, nil
}

// Generate returns the table of rules: rules.yaml with the effects of the measurements.
// The effect of a rule is the most severe one that its cases show. Cases that skip
// returns true for are left out. A rule that nothing shows is an error, or is left out
// if cases are left out.
func Generate(dir string, skip func(name string) bool) (forecast.Table, error) {
	rules, err := readRules(dir)
	if err != nil {
		return nil, err
	}
	cases, err := Cases(dir)
	if err != nil {
		return nil, err
	}
	measured, err := ReadMeasurements(dir)
	if err != nil {
		return nil, err
	}
	happened := map[string]forecast.Effect{}
	for _, c := range cases {
		o, ok := measured.Cases[c.Name]
		if !ok {
			return nil, fmt.Errorf("case %s isn't measured: run make consequences", c.Name)
		}
		happened[c.Name] = o.Effect(c)
	}
	shown, err := evidence(rules, cases, happened, skip)
	if err != nil {
		return nil, err
	}
	var table forecast.Table
	var missing []error
	for _, r := range rules {
		found, ok := r.decide(shown[r.ID()], happened)
		if ok {
			table = append(table, found)
		} else if skip == nil {
			missing = append(missing, fmt.Errorf("rule %q: no measurement shows it, and it has no source", r.ID()))
		}
	}
	if err := errors.Join(missing...); err != nil {
		return nil, err
	}
	return table, table.Check()
}

// decide returns the rule with its effect, and false if nothing shows it.
func (r rule) decide(cases []string, happened map[string]forecast.Effect) (forecast.Rule, bool) {
	worst := forecast.None
	for _, name := range cases {
		if e := happened[name]; e.Severity() > worst.Severity() {
			worst = e
		}
	}
	if r.fixed != "" {
		worst = r.fixed
	}
	out := r.Rule
	for _, name := range cases {
		if e := happened[name]; e == worst || r.fixed == "" && Quiet(worst) && Quiet(e) {
			out.Cases = append(out.Cases, name)
		}
	}
	if out.Effect = worst; Quiet(worst) && r.fixed == "" {
		out.Effect = r.quiet
	}
	if len(out.Cases) > 0 {
		out.Source = ""
	}
	return out, len(out.Cases) > 0 || out.Source != ""
}

// evidence returns the cases that show the effect of each rule, by the ID of the rule.
// A case in which several rules hold shows that nothing happens by any of them, or
// something by those that have no other case.
func evidence(rules []rule, cases []Case, happened map[string]forecast.Effect, skip func(string) bool) (map[string][]string, error) {
	shown := map[string][]string{}
	type unclear struct {
		name string
		ids  []string
	}
	var later []unclear
	for _, c := range cases {
		if skip != nil && skip(c.Name) {
			continue
		}
		ids, err := holding(rules, c)
		if err != nil {
			return nil, err
		}
		if len(ids) > 1 && !Quiet(happened[c.Name]) {
			later = append(later, unclear{c.Name, ids})
			continue
		}
		for _, id := range ids {
			shown[id] = append(shown[id], c.Name)
		}
	}
	for _, u := range later {
		var open []string
		for _, id := range u.ids {
			if len(shown[id]) == 0 {
				open = append(open, id)
			}
		}
		if len(open) == 1 {
			shown[open[0]] = append(shown[open[0]], u.name)
		}
	}
	return shown, nil
}

// holding returns the IDs of the rules that hold for a case, whatever their effects.
func holding(rules []rule, c Case) ([]string, error) {
	table := make(forecast.Table, len(rules))
	for i, r := range rules {
		table[i] = r.Rule
		table[i].Effect = forecast.InPlace // a single effect, so that none hides another
	}
	before, after, err := c.Objects()
	if err != nil {
		return nil, fmt.Errorf("case %s: %w", c.Name, err)
	}
	var ids []string
	for _, all := range table.Of(objectdiff.Compare(before, after), before, after) {
		for _, n := range all {
			if !slices.Contains(ids, n.Rule) && !strings.Contains(n.Reason, forecast.UnknownReason) {
				ids = append(ids, n.Rule)
			}
		}
	}
	slices.Sort(ids)
	return ids, nil
}
