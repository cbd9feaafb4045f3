// Package nearest finds the name that somebody probably meant, for hints in
// error messages.
package nearest

import (
	"fmt"
	"strings"

	"github.com/agext/levenshtein"
)

// minPrefix is how much of a name must be there for what is left out not to count.
const minPrefix = 3

// Name returns the name that got is probably a slip of, the first of equals,
// or "" if none is near: at most one edit for every three letters, and at least
// one. Two neighbours that changed places are one edit. Where none is near it is
// the only name that begins with got: prod is short for production.
func Name(got string, names []string) string {
	best, least := "", 1+max(1, len(got)/3)
	for _, name := range names {
		d := levenshtein.Distance(got, name, nil)
		if d == 2 && swapped(got, name) {
			d = 1
		}
		if d < least && d < len(got) {
			best, least = name, d
		}
	}
	if best == "" && len(got) >= minPrefix {
		return only(got, names)
	}
	return best
}

// only returns the name that begins with a prefix, "" if several do.
func only(prefix string, names []string) string {
	var found string
	for _, name := range names {
		if !strings.HasPrefix(name, prefix) || name == found {
			continue
		}
		if found != "" {
			return ""
		}
		found = name
	}
	return found
}

// swapped says whether two strings differ in the order of two neighbours alone.
func swapped(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := 0; i+1 < len(a); i++ {
		if a[i] != b[i] {
			return a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
		}
	}
	return false
}

// Hint words [Name] as a question, or returns "" if no name is near.
func Hint(got string, names []string) string {
	if name := Name(got, names); name != "" {
		return fmt.Sprintf("did you mean %q?", name)
	}
	return ""
}
