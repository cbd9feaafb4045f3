package cel

import (
	"strings"

	"github.com/pequod-io/pequod/internal/schema/shape"
)

// oneAlone is the predicate that a struct contradicts all members but one. It is
// unknown where two members may come to the same, or one of them is a default.
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
		t.Object = t.Object.Relaxed()
		p := HoldsTerm(t, declared, declared, v)
		if !p.Exact || p.fallible {
			return Unknown()
		}
		if p.Text == "" {
			p.Text = "true"
		}
		texts = append(texts, p.Text)
	}
	x := Variable(strings.Join(texts, " ") + v)
	return Predicate{Text: "[" + strings.Join(texts, ", ") + "].filter(" + x + ", " + x + ").size() == 1", Exact: true}
}
