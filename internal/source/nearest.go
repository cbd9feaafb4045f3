package source

import (
	"fmt"
	"strings"

	"github.com/agext/levenshtein"
)

// minPrefix is the length in bytes from which a unique prefix counts as an
// abbreviation.
const minPrefix = 3

// Nearest returns the name that got is probably a misspelling of, or "" if no
// name is near enough. The limit is one edit for every three bytes of got, and
// at least one; a swap of two neighbouring bytes counts as one edit. Of equally
// near names the first wins. If no name is that near, Nearest returns the only
// name that begins with got, so that "prod" finds "production".
func Nearest(got string, names []string) string {
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
		return uniqueWithPrefix(got, names)
	}
	return best
}

// uniqueWithPrefix returns the only name that begins with prefix. It returns ""
// if no name or several names do.
func uniqueWithPrefix(prefix string, names []string) string {
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

// swapped reports whether a and b differ only in the order of two neighbouring
// bytes.
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

// Hint returns the question `did you mean "NAME"?` for the name that [Nearest]
// finds, or "" if it finds none.
func Hint(got string, names []string) string {
	if name := Nearest(got, names); name != "" {
		return fmt.Sprintf("did you mean %q?", name)
	}
	return ""
}
