package read

import (
	"slices"

	"cuelang.org/go/cue"
	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
	"github.com/pequod-io/pequod/internal/schema/translate"
)

// maxWays bounds the combinations of conditions that are tried.
const maxWays = 16

// ways are what v, the field of that name, may be without any of the conditions in
// c, then with each of them and with several. It reports false where that can't be
// told.
func (r *reader) ways(in context, v cue.Value, c *syntax.Guarded, name string) ([]cue.Value, bool) {
	if c.Open || c.Deep || 1<<len(c.Fields[name]) > maxWays {
		return nil, false
	}
	parts, _ := r.conjuncts(in, v)
	if len(parts) == 0 {
		return nil, false
	}
	ways := []cue.Value{parts[0].Value}
	for _, p := range parts {
		if e := syntax.Expression(p.Source()); e == nil || syntax.AnyFieldRefers(e) {
			return nil, false
		}
		ways[0] = ways[0].Unify(p.Value)
	}
	for _, e := range c.Fields[name] {
		if syntax.AnyFieldRefers(e) {
			return nil, false
		}
		added, ok := r.build(e)
		if !ok {
			return nil, false
		}
		for _, w := range ways {
			ways = append(ways, w.Unify(added))
		}
	}
	return ways, true
}

// fillsOf says when the conditions give a field a value that may be in these ways.
func fillsOf(ways []cue.Value) translate.Fills {
	switch {
	case len(ways) == 0 || isFilled(ways[0]):
		return translate.FillsUnknown
	case !slices.ContainsFunc(ways, isFilled):
		return translate.FillsNever
	}
	// Each condition doubles the ways: that of it alone comes first.
	for i := 1; i < len(ways); i *= 2 {
		if !isFilled(ways[i]) {
			return translate.FillsSometimes
		}
	}
	return translate.FillsAlways
}

func isContradiction(v cue.Value) bool { return kindsOfValue(v) == shape.BottomKind }

func isFilled(v cue.Value) bool { return v.Validate(cue.Concrete(true)) == nil }
