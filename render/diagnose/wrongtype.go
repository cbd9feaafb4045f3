package diagnose

import (
	"fmt"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// addWrongType reports a value whose kind is not among those that the schema
// admits. The hint tells how to write a value that was probably meant, such as a
// number in quotes. If the schema is an enumeration, the allowed values say more
// than their kind.
//
// Examples of its messages:
//
//	spec.port: must be an integer, not the string "80"; write it without quotes
//	spec.version: must be a string, not 1.1; write "1.10"
func (d *diagnosis) addWrongType(schema cue.Value, admitted cue.Kind, e ast.Expr, path string) {
	alts := alternatives(schema)
	if enum := filter(alts, isLiteral); len(enum) == len(alts) && isScalar(e) {
		d.addNotInEnum(schema, enum, 0, e, path)
		return
	}
	hint, wanted := "", kindWords(admitted)
	s, isText := cuesyntax.Text(e)
	switch {
	case dataKind(e) == cue.IntKind && admitted&cue.NumberKind == cue.FloatKind:
		wanted, hint = strings.Replace(wanted, "a number", "a float", 1), "write "+originalText(e)+".0"
	case isText && admitted&cue.NumberKind != 0 && cuesyntax.Number(s) != nil,
		isText && admitted&cue.BoolKind != 0 && (s == "true" || s == "false"):
		hint = "write it without quotes"
	case !isText && admitted&cue.StringKind != 0 && isScalar(e):
		hint = fmt.Sprintf("write %q", originalText(e))
	}
	d.add(path, problem.RuleType, d.schemaPosition(schema), fmt.Sprintf("must be %s, not %s", wanted, typeWords(e)), hint)
}
