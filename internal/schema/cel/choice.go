package cel

import (
	"strings"

	"github.com/pequod-io/pequod/internal/schema/shape"
)

// ExactlyOne returns the predicate that v contradicts all structs of s but one.
// It is [Unknown] if a value can be in two of them, or if one of them is a
// default, because CUE then resolves the choice in ways that CEL can't express.
// The predicate has the same form as that of a check that admits one of its
// shapes.
func ExactlyOne(s, declared shape.Shape, v string) Predicate {
	for i, t := range s {
		if t.Object.Preferred || len(t.Object.Rules) > 0 {
			return Unknown()
		}
		for _, u := range s[i+1:] {
			if !shape.Differ(t.Object, u.Object) {
				return Unknown()
			}
		}
	}
	var texts []string
	for _, t := range s {
		// The members are told apart by their contradictions, not by absent
		// fields.
		t.Object = t.Object.Relaxed()
		p := HoldsTerm(t, declared, declared, v)
		if !p.Exact || p.fallible {
			return Unknown()
		}
		texts = append(texts, p.orTrue())
	}
	return Predicate{Text: countTrue(texts, Variable(strings.Join(texts, " ")+v)) + " == 1", Exact: true}
}
