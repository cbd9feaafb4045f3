package render

import (
	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// Definitions that a version may have next to its #Input. They convert a spec
// of the version to the stored version and back. Without them a spec stays as
// it is, as on an API server without a conversion webhook.
//
// Both have the form {input: _, output: _}, where input is the spec to convert.
const (
	toStorage   = "#ToStorage"
	fromStorage = "#FromStorage"
)

// convert evaluates a conversion of a version, toStorage or fromStorage, over a
// spec with the defaults of its schema. It returns a decoded JSON value. Without
// the conversion that is the spec itself.
func (b *builtModule) convert(version, conversion string, schema SchemaPath, spec ast.Expr) (any, problem.List) {
	path := versionPath(version, conversion)
	if !b.root.LookupPath(cue.ParsePath(string(path))).Exists() {
		return b.withDefaults(schema, spec)
	}
	input := ast.NewBinExpr(token.AND, schema.expr(), spec)
	v := b.eval(ast.NewBinExpr(token.AND, path.expr(), ast.NewStruct("input", input)))
	out := v.LookupPath(cue.MakePath(cue.Str("output")))
	if !out.Exists() {
		return nil, problem.List{{Position: cuesyntax.Position(v.Pos()), Path: string(path) + ".output", Rule: problem.RuleModule, Message: "missing"}}
	}
	d := &decoder{}
	value := d.value(out, string(path)+".output", nil)
	return value, d.problems.Sorted()
}

// withDefaults returns a spec with the defaults of its schema, as a decoded JSON
// value. A spec that does not match the schema is a problem, and so is one that
// lacks a required value.
func (b *builtModule) withDefaults(schema SchemaPath, spec ast.Expr) (any, problem.List) {
	d := &decoder{}
	value := d.value(b.eval(ast.NewBinExpr(token.AND, schema.expr(), spec)), "spec", nil)
	return value, d.problems.Sorted()
}
