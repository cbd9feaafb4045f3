package shape

import (
	"regexp"
	"slices"
	"unicode/utf8"
)

// text constrains strings. Lengths are in code points. Patterns are RE2 and not
// anchored, in CUE as in the API server.
type Strings struct {
	Min, Max *int64
	Patterns []string
	// notPatterns must not match anywhere in the string.
	NotPatterns []string
	// not are values that are not admitted.
	Not []Literal
	// formats are what CUE's packages validate.
	Formats []Format
}

func (t Strings) meet(u Strings) Strings {
	return Strings{
		Min:         larger(t.Min, u.Min),
		Max:         smaller(t.Max, u.Max),
		Patterns:    union(t.Patterns, u.Patterns),
		NotPatterns: union(t.NotPatterns, u.NotPatterns),
		Not:         append(slices.Clone(t.Not), u.Not...),
		Formats:     union(t.Formats, u.Formats),
	}
}

// union keeps the order of first appearance.
func union[T comparable](a, b []T) []T {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// admits is true for what is not a string.
func (t Strings) admits(l Literal) bool {
	if l.String == nil {
		return true
	}
	n := int64(utf8.RuneCountInString(*l.String))
	if t.Min != nil && n < *t.Min || t.Max != nil && n > *t.Max {
		return false
	}
	for _, p := range t.Patterns {
		if re, err := regexp.Compile(p); err == nil && !re.MatchString(*l.String) {
			return false
		}
	}
	for _, p := range t.NotPatterns {
		if re, err := regexp.Compile(p); err == nil && re.MatchString(*l.String) {
			return false
		}
	}
	if slices.ContainsFunc(t.Formats, func(f Format) bool { return !f.admits(*l.String) }) {
		return false
	}
	return !slices.ContainsFunc(t.Not, l.equal)
}
