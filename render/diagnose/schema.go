package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// isComplete reports whether a value is valid and has everything that its
// schema requires.
func isComplete(v cue.Value) bool { return v.Validate(cue.Concrete(true), cue.All()) == nil }

// isValid reports whether a value has no error; fields may still be missing.
func isValid(v cue.Value) bool { return v.Validate() == nil }

// alternatives returns the branches of a disjunction that are still possible,
// in the order of the source if it is known. For anything else it returns v
// alone. A default that another branch admits too is not a branch.
func alternatives(v cue.Value) []cue.Value {
	op, args := v.Eval().Expr()
	if op != cue.OrOp {
		if op == cue.NoOp && len(args) == 1 && v.IncompleteKind() != cue.BottomKind {
			if _, has := v.Default(); has && !v.IsConcrete() && v.IncompleteKind()&(cue.StructKind|cue.ListKind) == 0 {
				return args
			}
		}
		return []cue.Value{v}
	}
	sortByPosition(args)
	return args
}

// sortByPosition sorts values of one file into the order of the source. CUE
// puts defaults first.
func sortByPosition(values []cue.Value) {
	slices.SortStableFunc(values, func(a, b cue.Value) int {
		p, q := a.Pos(), b.Pos()
		if p.Filename() == "" || p.Filename() != q.Filename() {
			return 0
		}
		return p.Offset() - q.Offset()
	})
}

// schemaKinds returns the kinds that a schema admits, or BottomKind if they
// can't be determined. CUE does not know the kind of a list whose schema
// bounds its length until there is a list, so schemaKinds looks at the
// operands.
func schemaKinds(v cue.Value) cue.Kind {
	if k := v.IncompleteKind(); k != cue.BottomKind {
		return k
	}
	op, args := v.Expr()
	switch {
	case op == cue.AndOp:
		k := cue.TopKind
		for _, a := range args {
			if part := schemaKinds(a); part != cue.BottomKind {
				k &= part
			}
		}
		return k
	case op == cue.OrOp:
		var k cue.Kind
		for _, a := range args {
			k |= schemaKinds(a)
		}
		return k
	case op == cue.NoOp && len(args) == 1 && args[0] != v:
		if op, _ := args[0].Expr(); op == cue.AndOp || op == cue.OrOp {
			return schemaKinds(args[0])
		}
	}
	return cue.BottomKind
}

// isLiteral reports whether a schema admits exactly one scalar.
func isLiteral(v cue.Value) bool {
	return v.IsConcrete() && v.IncompleteKind()&(cue.StructKind|cue.ListKind) == 0
}

// literals returns the alternatives that are scalars, as CUE prints them and
// without duplicates.
func literals(alts []cue.Value) []string {
	var values []string
	for _, a := range alts {
		if s := fmt.Sprint(a); isLiteral(a) && !slices.Contains(values, s) {
			values = append(values, s)
		}
	}
	return values
}

// equals reports whether a literal of a schema is the value e of the instance.
// Strings are compared by their text, since there are several ways to write one;
// other scalars as CUE prints them.
func equals(literal cue.Value, e ast.Expr) bool {
	if s, ok := cuesyntax.Text(e); ok {
		l, err := literal.String()
		return err == nil && l == s
	}
	return isScalar(e) && fmt.Sprint(literal) == quoteValue(e)
}

// literalSyntax returns a literal of a schema as syntax.
func literalSyntax(v cue.Value) ast.Expr {
	if s, err := v.String(); err == nil {
		return ast.NewString(s)
	}
	e, _ := v.Syntax(cue.Final()).(ast.Expr)
	return e
}

// constraintText returns a schema as CUE source without the type that its
// values have anyway: >0 for int & >0.
//
// The parts of a conjunction are joined with "and", as in: >=1 and <=65535
func constraintText(v cue.Value) string {
	op, args := v.Eval().Expr()
	if op != cue.AndOp {
		return fmt.Sprint(v)
	}
	var parts []string
	for _, a := range args {
		if s := fmt.Sprint(a); s != a.IncompleteKind().String() {
			parts = append(parts, s)
		}
	}
	if len(parts) == 0 {
		return fmt.Sprint(v)
	}
	return strings.Join(parts, " and ")
}

// namesOf returns the names of the fields that a struct declares and that keep accepts,
// optional fields included.
func namesOf(v cue.Value, keep func(*cue.Iterator) bool) (names []string) {
	it, err := v.Fields(cue.Optional(true))
	for err == nil && it.Next() {
		if keep(it) {
			names = append(names, it.Selector().Unquoted())
		}
	}
	return names
}

// FieldNames returns the names of the fields that a schema declares, optional
// fields and those of all alternatives included.
func FieldNames(schema cue.Value) (names []string) {
	for _, v := range alternatives(schema) {
		names = append(names, namesOf(v, func(*cue.Iterator) bool { return true })...)
	}
	return names
}

// declares reports whether a schema declares a field by name.
func declares(v cue.Value, name string) bool { return slices.Contains(FieldNames(v), name) }

// keyPatterns returns the patterns that the keys of a map must match, sorted.
func keyPatterns(schema cue.Value) []string {
	var patterns []string
	it, err := schema.Fields(cue.Patterns(true))
	for err == nil && it.Next() {
		if it.Selector().ConstraintType()&cue.PatternConstraint != 0 {
			patterns = append(patterns, constraintText(it.Selector().Pattern()))
		}
	}
	slices.Sort(patterns)
	return patterns
}

// allows reports whether a struct may have a field, by name or by pattern.
func allows(v cue.Value, f *ast.Field) bool { return v.Allows(cue.Str(cuesyntax.LabelName(f.Label))) }

// fieldValue returns the value of a field of the instance in an evaluated
// struct.
func fieldValue(v cue.Value, f *ast.Field) cue.Value {
	return v.LookupPath(cue.MakePath(cue.Str(cuesyntax.LabelName(f.Label))))
}

// declaredField returns the schema of a field that a schema declares, optional
// or not.
func declaredField(v cue.Value, name string) cue.Value {
	return v.LookupPath(cue.MakePath(cue.Str(name).Optional()))
}

// isMissing reports whether a field that the instance does not have is missing:
// a required field, or a regular one without a value.
func isMissing(it *cue.Iterator) bool {
	return it.FieldType()&cue.RequiredConstraint != 0 || !isOptional(it) && !isComplete(it.Value())
}

// requiredNames returns the names of the fields that an instance must give.
func requiredNames(v cue.Value) []string {
	if v.IncompleteKind() != cue.StructKind {
		return nil
	}
	return namesOf(v, isMissing)
}

// isOptional reports whether a field is declared with ?.
func isOptional(it *cue.Iterator) bool { return it.FieldType()&cue.OptionalConstraint != 0 }
