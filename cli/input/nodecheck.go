package input

import (
	"slices"

	"github.com/pequod-io/pequod/internal/problem"
)

// UniqueNotes returns the problems without repeated notes about schemas. A note
// such as that a kind is unknown holds for every node of that kind. Only notes
// are dropped: an error at another position is another error. The elements of ps
// are moved; callers must not use ps afterwards.
func UniqueNotes(ps problem.List) problem.List {
	seen := map[string]bool{}
	return slices.DeleteFunc(ps, func(p problem.Problem) bool {
		if p.Rule != problem.RuleSchema || p.Severity != problem.Note {
			return false
		}
		again := seen[p.Message]
		seen[p.Message] = true
		return again
	})
}
