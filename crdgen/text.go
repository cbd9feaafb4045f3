package crdgen

import (
	"regexp"
	"slices"
	"unicode/utf8"
)

// text constrains strings. Lengths are in code points. Patterns are RE2 and not
// anchored, in CUE as in the API server.
type text struct {
	min, max *int64
	patterns []string
	// notPatterns must not match anywhere in the string.
	notPatterns []string
	// not are values that are not admitted.
	not []literal
	// formats are what CUE's packages validate.
	formats []format
}

func (t text) meet(u text) text {
	return text{
		min:         larger(t.min, u.min),
		max:         smaller(t.max, u.max),
		patterns:    union(t.patterns, u.patterns),
		notPatterns: union(t.notPatterns, u.notPatterns),
		not:         append(slices.Clone(t.not), u.not...),
		formats:     union(t.formats, u.formats),
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
func (t text) admits(l literal) bool {
	if l.string == nil {
		return true
	}
	n := int64(utf8.RuneCountInString(*l.string))
	if t.min != nil && n < *t.min || t.max != nil && n > *t.max {
		return false
	}
	for _, p := range t.patterns {
		if re, err := regexp.Compile(p); err == nil && !re.MatchString(*l.string) {
			return false
		}
	}
	for _, p := range t.notPatterns {
		if re, err := regexp.Compile(p); err == nil && re.MatchString(*l.string) {
			return false
		}
	}
	if slices.ContainsFunc(t.formats, func(f format) bool { return !f.admits(*l.string) }) {
		return false
	}
	return !slices.ContainsFunc(t.not, l.equal)
}
