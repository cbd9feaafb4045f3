package diagnose

import (
	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/problem"
)

// addScalar reports a scalar of an admitted kind that the schema does not
// accept. With several alternatives it names those of the value's kind; with
// one it reports the constraint that the value breaks.
//
// Examples of its messages:
//
//	spec.port: 0 is not >0
//	spec.memory: "1GB" is not "auto" or =~"^[0-9]+Gi$"
func (d *diagnosis) addScalar(schema cue.Value, e ast.Expr, path string) {
	var sameKind, enum []cue.Value
	var otherKinds cue.Kind
	alts := alternatives(schema)
	for _, a := range alts {
		switch k := schemaKinds(a); {
		case isLiteral(a):
			enum = append(enum, a)
		case k&dataKind(e) != 0:
			sameKind = append(sameKind, a)
		default:
			otherKinds |= k
		}
	}
	// An enumeration lists its values; several constraints are joined with "or"; a
	// single constraint has a message of its own.
	switch {
	case len(sameKind) == 0 && len(enum) > 0:
		d.addNotInEnum(schema, enum, otherKinds, e, path)
	case len(alts) > 1 && len(sameKind)+len(enum) > 1:
		words := literals(enum)
		for _, a := range sameKind {
			words = append(words, constraintText(a))
		}
		d.add(path, problem.RuleConstraint, d.schemaPosition(schema), quoteValue(e)+" is not "+orList(words), "")
	default:
		// Unlike a struct, a scalar may be unified with an evaluated value:
		// there are no closed fields to lose.
		d.addConstraint(schema.Unify(d.build(e)), e, path, schema)
	}
}
