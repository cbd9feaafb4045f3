package shape

import (
	"regexp"
	"slices"
	"unicode/utf8"
)

// Strings constrains strings. Patterns are RE2 and not anchored, in CUE as in
// the API server. The zero value admits every string.
type Strings struct {
	// Min and Max bound the length in code points; nil means no bound.
	Min, Max *int64
	// Patterns must all match somewhere in the string.
	Patterns []string
	// NotPatterns must not match anywhere in the string.
	NotPatterns []string
	// Not are values that are not admitted.
	Not []Literal
	// Formats are the validators of CUE's packages that apply.
	Formats []Format
}

// meet returns the intersection.
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

// union appends to a what is only in b. The order is stable, so that equal
// input gives equal CRDs.
func union[T comparable](a, b []T) []T {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// admits reports whether l satisfies t. It is true for values that aren't
// strings.
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
