package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pequod-io/pequod/internal/problem"
)

// entry is a problem as every format prints it. Entries are comparable.
type entry struct {
	problem.Problem
	// ruleAt is the position of the broken rule, such as
	// webservice/schema.cue:8:14. For a problem of the module itself it names the
	// affected instances instead: "rendering app.yaml:3:1 and 2 more".
	ruleAt string
}

// merged returns an entry for each problem, in the given order. A problem of a
// module is found again with every instance that is rendered; all its copies
// become one entry that names the first instance and counts the others. The
// result is never nil.
//
// For example, three problems at webservice/render.cue:7:3 that were found while
// rendering app.yaml:3:1, db.yaml:1:1 and jobs.yaml:9:1 become one entry with the
// note "rendering app.yaml:3:1 and 2 more".
func merged(problems problem.List) []entry {
	type group struct {
		first problem.Position // the first affected instance; File is empty for a problem of an instance
		times int
	}
	groups := map[problem.Problem]*group{}
	var order []problem.Problem
	for _, p := range problems {
		// Copies of a problem differ only in the instance. Problems of an instance itself
		// have no InstanceAt, and are merged only if they are equal.
		at := p.InstanceAt
		// Without its instance, each copy is the same key.
		if at.File != "" {
			p.InstanceAt, p.Instance = problem.Position{}, ""
		}
		if groups[p] == nil {
			groups[p] = &group{first: at}
			order = append(order, p)
		}
		groups[p].times++
	}
	entries := make([]entry, 0, len(order))
	for _, p := range order {
		e := entry{p, p.Related.String()}
		if g := groups[p]; g.first.File != "" {
			e.Related = problem.Position{} // not printed, so it must not distinguish entries
			e.ruleAt = "rendering " + g.first.String()
			if g.times > 1 {
				e.ruleAt += fmt.Sprintf(" and %d more", g.times-1)
			}
		}
		entries = append(entries, e)
	}
	return entries
}

// sorted sorts entries by position and then by everything that is printed, and
// returns them without duplicates. It sorts entries in place. The order is that
// of a reader who goes through the files from top to bottom.
func sorted(entries []entry) []entry {
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(
			a.Position.Compare(b.Position),
			cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Message, b.Message),
			cmp.Compare(a.Severity.String(), b.Severity.String()),
			cmp.Compare(a.Instance, b.Instance),
			cmp.Compare(a.Rule, b.Rule),
			cmp.Compare(a.ruleAt, b.ruleAt),
			cmp.Compare(a.Hint, b.Hint))
	})
	return slices.Compact(entries)
}
