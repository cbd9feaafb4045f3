package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// addNotInEnum reports a value that is none of an enumeration's. otherKinds are
// the kinds that the schema admits besides the enumeration. The hint is the
// nearest word, or that quotes are missing or too many.
//
// Examples of its messages:
//
//	spec.tier: "glod" is not one of "gold", "silver"; did you mean "gold"?
//	spec.kind: "job" is not "service"
func (d *diagnosis) addNotInEnum(schema cue.Value, enum []cue.Value, otherKinds cue.Kind, e ast.Expr, path string) {
	values := literals(enum)
	hint := ""
	if s, ok := cuesyntax.Text(e); ok {
		var words []string
		for _, l := range enum {
			if w, err := l.String(); err == nil {
				words = append(words, w)
			} else if fmt.Sprint(l) == s {
				hint = "write it without quotes"
			}
		}
		if near := nearestWord(s, words); near != "" && len(values) > 1 {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
	} else if slices.Contains(values, fmt.Sprintf("%q", quoteValue(e))) {
		hint = fmt.Sprintf("write %q", quoteValue(e))
	}
	message := quoteValue(e) + " is not one of " + strings.Join(values, ", ")
	// An enumeration of one value is a constant.
	if len(values) == 1 {
		message = quoteValue(e) + " is not " + values[0]
	}
	if otherKinds != 0 {
		message += " or " + kindWords(otherKinds)
	}
	d.add(path, problem.RuleEnum, d.schemaPosition(schema), message, hint)
}

// nearestWord is like [source.Nearest], and prefers the same word in another
// case.
func nearestWord(s string, words []string) string {
	for _, w := range words {
		if strings.EqualFold(s, w) {
			return w
		}
	}
	return source.Nearest(s, words)
}
