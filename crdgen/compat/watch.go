package compat

import (
	"encoding/json"
	"regexp"
	"slices"

	"github.com/pequod-io/pequod/internal/lazyregexp"
)

// watcher is a rule that reads several fields at once, so that it may reject an
// object in which one of them appears.
type watcher struct {
	// depth is the number of keys that lead to the schema of the rule.
	depth int
	// text is the rule: CEL, or the JSON of schemas that are combined. It is
	// empty for a bound on the number of fields.
	text string
}

// watchers returns the rules of one schema. The JSON of allOf, anyOf, oneOf and
// not stands for a text that mentions fields by name, as CEL does.
func watchers(s *props, depth int) []watcher {
	var all []watcher
	for _, r := range s.XValidations {
		all = append(all, watcher{depth, r.Rule})
	}
	if len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) > 0 || s.Not != nil {
		combined := props{AllOf: s.AllOf, AnyOf: s.AnyOf, OneOf: s.OneOf, Not: s.Not}
		if text, err := json.Marshal(combined); err == nil {
			all = append(all, watcher{depth, string(text)})
		}
	}
	if s.MaxProperties != nil {
		all = append(all, watcher{depth: depth})
	}
	return all
}

// sees reports whether the rule may read a value that appears at the end of keys
// (properties, a, items, …), which start at the rule's schema. A false result is
// certain: a rule has to name a field to read it, or to take something around the
// field as a whole. For the rule self.max >= self.min it is true for [properties
// max] and false for [properties name].
func (w watcher) sees(keys []string) bool {
	names, inside := fieldsOf(keys)
	if len(names) == 0 {
		return true
	}
	// A bound on the number of fields counts direct fields only.
	if w.text == "" {
		return len(names) == 1 && !inside
	}
	last := names[len(names)-1]
	if names = names[:len(names)-1]; mentions(w.text, last, false) || mentions(w.text, "self", true) {
		return true
	}
	return slices.ContainsFunc(names, func(name string) bool { return mentions(w.text, name, !inside) })
}

// fieldsOf returns the names of the fields on the way, and reports whether the
// way leads through items of lists or values of maps.
func fieldsOf(keys []string) (names []string, inside bool) {
	for i := 0; i < len(keys); i++ {
		switch keys[i] {
		case "properties":
			if i++; i < len(keys) {
				names = append(names, keys[i])
			}
		default:
			inside = true
		}
	}
	return names, inside
}

// identifier matches names that CEL writes unchanged.
var identifier = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// mentions reports whether a rule contains name; with whole set, only if the rule
// doesn't go on to select a field of it. The result is true for names that aren't
// identifiers, because CEL escapes them. For the rule self.max > 1, max is
// mentioned, and self is not mentioned as a whole.
func mentions(text, name string, whole bool) bool {
	if !identifier().MatchString(name) {
		return true
	}
	for _, at := range regexp.MustCompile(`\b`+name+`\b`).FindAllStringIndex(text, -1) {
		if !whole || at[1] == len(text) || text[at[1]] != '.' {
			return true
		}
	}
	return false
}
