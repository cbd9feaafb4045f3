// Package nearest finds the name that somebody probably meant, for hints in
// error messages.
package nearest

import (
	"fmt"

	"github.com/agext/levenshtein"
)

// Name returns the name that got is probably a slip of, the first of equals,
// or "" if none is near: at most one edit for every three letters, and at least
// one.
func Name(got string, names []string) string {
	best, least := "", 1+max(1, len(got)/3)
	for _, name := range names {
		if d := levenshtein.Distance(got, name, nil); d < least && d < len(got) {
			best, least = name, d
		}
	}
	return best
}

// Hint words [Name] as a question, or returns "" if no name is near.
func Hint(got string, names []string) string {
	if name := Name(got, names); name != "" {
		return fmt.Sprintf("did you mean %q?", name)
	}
	return ""
}
