package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
)

// parts are what can be measured, in this order.
var parts = []string{"cli", "graphs", "idle", "reconciles", "reactions"}

// all measures part by part, and prints what it has, even if it doesn't get to
// the end.
func (m *measurement) all(ctx context.Context) (err error) {
	defer m.print(os.Stdout)
	asked := map[string]bool{}
	for _, part := range strings.Split(m.parts, ",") {
		if !slices.Contains(parts, part) {
			return fmt.Errorf("unknown part %q: there are %s", part, strings.Join(parts, ", "))
		}
		asked[part] = true
	}
	defer func() { err = cmp.Or(err, m.end()) }()
	if asked["cli"] {
		if err := m.cli(ctx); err != nil {
			return err
		}
	}
	delete(asked, "cli")
	if len(asked) > 0 {
		return m.inCluster(ctx, asked)
	}
	return nil
}

// cli warms up, measures in rounds, and counts.
func (m *measurement) cli(ctx context.Context) error {
	if err := m.renew(ctx); err != nil {
		return err
	}
	for _, name := range strings.Split(m.cases, ",") {
		if _, ok := loads[name]; !ok {
			return fmt.Errorf("unknown case %q", name)
		}
		for round := range m.rounds + 1 {
			pairs, err := m.round(ctx, name, round)
			if err != nil {
				return err
			}
			for verb, p := range pairs {
				if w := (what{name, verb}); round > 0 { // the first warms the server up
					m.results[w] = append(m.results[w], p)
				}
			}
			fmt.Fprintf(os.Stderr, "%s: round %d of %d\n", name, round, m.rounds)
		}
		if err := m.count(ctx, name); err != nil {
			return err
		}
		for _, verb := range []string{create, again, remove} {
			m.rows = append(m.rows, row{what{name, verb}, loads[name].aims[verb], loads[name].count, "object"})
		}
	}
	return nil
}

// inCluster measures what concerns pequod-applier.
func (m *measurement) inCluster(ctx context.Context, asked map[string]bool) error {
	if err := m.buildController(ctx); err != nil {
		return err
	}
	if asked["graphs"] {
		if err := m.manyGraphs(ctx); err != nil {
			return err
		}
	}
	if asked["idle"] || asked["reconciles"] || asked["reactions"] {
		return m.standing(ctx, asked)
	}
	return nil
}
