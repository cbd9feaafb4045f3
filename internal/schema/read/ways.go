package read

import (
	"slices"

	"cuelang.org/go/cue"

	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
	"github.com/pequod-io/pequod/internal/schema/translate"
)

// maxWays bounds the combinations of guards that are tried, which double with
// each guard.
const maxWays = 16

// ways returns the values that the field called name may have: v without any
// guard first, then v with every combination of guards. It reports false if they
// can't be determined. With two guards A and B the result is [v, v & A, v & B, v
// & A & B].
func (r *reader) ways(in context, v cue.Value, c *syntax.Guarded, name string) ([]cue.Value, bool) {
	if c.Open || c.Deep || 1<<len(c.Fields[name]) > maxWays {
		return nil, false
	}
	parts, _ := r.conjuncts(in, v)
	if len(parts) == 0 {
		return nil, false
	}
	// v itself may have the effects of guards that hold without input, so its
	// value without guards is built from the parts that are certain.
	ways := []cue.Value{parts[0].Value}
	for _, p := range parts {
		if e := syntax.Expression(p.Source()); e == nil || r.parameters.AnyFieldRefers(e) {
			return nil, false
		}
		ways[0] = ways[0].Unify(p.Value)
	}
	for _, e := range c.Fields[name] {
		if r.parameters.AnyFieldRefers(e) {
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

// fillsOf tells when guards supply a field that has these ways. It is unknown if
// the field has a value without any guard.
func fillsOf(ways []cue.Value) translate.Fills {
	switch {
	case len(ways) == 0 || isFilled(ways[0]):
		return translate.FillsUnknown
	case !slices.ContainsFunc(ways, isFilled):
		return translate.FillsNever
	}
	// Each guard doubles the ways; the one with this guard alone comes first.
	for i := 1; i < len(ways); i *= 2 {
		if !isFilled(ways[i]) {
			return translate.FillsSometimes
		}
	}
	return translate.FillsAlways
}

// isContradiction reports whether no value is in v.
func isContradiction(v cue.Value) bool { return kindsOfValue(v) == shape.BottomKind }

// isFilled reports whether v is complete without data. A field that is filled
// needs no value from the instance.
func isFilled(v cue.Value) bool { return v.Validate(cue.Concrete(true)) == nil }
