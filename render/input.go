package render

import (
	"fmt"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
	"github.com/pequod-io/pequod/render/diagnose"
)

// inputSelector selects the input of #Render, which holds metadata and spec.
var inputSelector = cue.Str("input")

// inputOf returns the input of an evaluated #Render.
func inputOf(v cue.Value) cue.Value { return v.LookupPath(cue.MakePath(inputSelector)) }

// inputError returns CUE's error about the input of an evaluated #Render.
func inputError(v cue.Value) error { return inputOf(v).Validate(cue.Concrete(true), cue.All()) }

// evaluate evaluates #Render with an instance's data and diagnoses the data if
// the schemas do not admit it. An instance of a version that is not stored is
// checked against its own schema first, and then converted.
//
// Without errors the result is #Render with its output. With errors it must not be
// used.
func (b *builtModule) evaluate(data *ast.StructLit, p *Platform, version string) (cue.Value, problem.List) {
	if version == p.Version {
		schema := p.Schema(version)
		// inputAlone is tried first, because it is cheaper. It misses mistakes that
		// only the schema of the version or the output reveals.
		rendered := b.renderWith(schema)
		return b.check(data, p, version, rendered, b.inputAlone, evalInput(rendered))
	}
	checked := b.inputOfVersion(p.Schema(version))
	v, problems := b.check(data, p, version, checked, evalInput(checked))
	if problems.Failed() {
		return v, problems
	}
	v, more := b.renderConverted(data, p, version)
	return v, append(problems, more...)
}

// check evaluates data of a version, which must be valid at `input` of the result. If
// it is not, check normalizes the data, and diagnoses it with evals if that does not
// help. Valid data must satisfy the module's own rules, too.
func (b *builtModule) check(data *ast.StructLit, p *Platform, version string, eval diagnose.Eval, evals ...diagnose.Eval) (cue.Value, problem.List) {
	v := eval(data)
	err := inputError(v)
	if err == nil {
		return v, b.checkRules(data, p, version)
	}
	// Normalizing visits every field, so it waits for a failure.
	normalized, warnings := diagnose.Normalize(data, b.root.LookupPath(cue.ParsePath(string(p.Schema(version)))))
	if normalized != nil {
		data = normalized
		v = eval(data)
		if err = inputError(v); err == nil {
			return v, append(warnings, b.checkRules(data, p, version)...)
		}
	}
	found := diagnose.Instance(b.root, data, err, evals...)
	if found.Panic != nil {
		b.uses = maxUses // the context may be broken
	}
	return v, append(warnings, found.Problems...)
}

// renderWith returns an evaluation of #Render with an instance of the stored
// version. The spec must match the version's schema even if #Render does not
// mention it.
func (b *builtModule) renderWith(schema SchemaPath) diagnose.Eval {
	return func(data *ast.StructLit) cue.Value {
		return b.unify("#Render", ast.NewStruct("input", withSchema(data, schema)))
	}
}

// inputAlone evaluates the input without the output. The output is most of the
// work and rarely says anything about the input.
func (b *builtModule) inputAlone(data *ast.StructLit) cue.Value {
	return b.eval(ast.NewBinExpr(token.AND, ast.NewSel(ast.NewIdent("#Render"), "input"), data))
}

// evalInput returns the input of what eval returns.
func evalInput(eval diagnose.Eval) diagnose.Eval {
	return func(data *ast.StructLit) cue.Value { return inputOf(eval(data)) }
}

// inputOfVersion returns an evaluation of the input of a version that is not
// stored: metadata must match #Render, spec the version's schema.
func (b *builtModule) inputOfVersion(schema SchemaPath) diagnose.Eval {
	return func(data *ast.StructLit) cue.Value {
		input := mapField(withSchema(data, schema), "metadata", func(metadata ast.Expr) ast.Expr {
			return ast.NewBinExpr(token.AND, ast.NewSel(ast.NewIdent("#Render"), "input", "metadata"), metadata)
		})
		return b.eval(ast.NewStruct("input", input))
	}
}

// renderConverted converts the spec of a version that is not stored, with the
// defaults of that version, to the stored version and evaluates #Render with
// it. The caller has checked data against the version's schema.
func (b *builtModule) renderConverted(data *ast.StructLit, p *Platform, version string) (cue.Value, problem.List) {
	value, problems := b.convert(version, toStorage, p.Schema(version), cuesyntax.Field(data, "spec").Value)
	if len(problems) > 0 {
		return cue.Value{}, problems
	}
	converted := mapField(data, "spec", func(ast.Expr) ast.Expr { return cuesyntax.Data(value) })
	rendered := b.renderWith(p.Schema(p.Version))
	v, problems := b.check(converted, p, p.Version, rendered, evalInput(rendered))
	// The converted spec has no positions, so its problems are reported at the field
	// of the same name in the spec that was converted, or at that spec.
	spec := cuesyntax.Position(cuesyntax.Field(data, "spec").Pos())
	for i := range problems {
		q := &problems[i]
		refusal := fmt.Sprintf("%s refuses it as converted from %s: ", p.Version, version)
		if at := fieldpath.Split(q.Path); cuesyntax.ValueAt(data, at) != nil {
			q.Position, q.Message = cuesyntax.PositionAt(data, at), refusal+q.Message
			continue
		}
		q.Position, q.Path, q.Message = spec, "spec", refusal+q.Path+": "+q.Message
	}
	return v, problems
}

// withSchema returns data whose spec is unified with a schema.
func withSchema(data *ast.StructLit, schema SchemaPath) *ast.StructLit {
	return mapField(data, "spec", func(spec ast.Expr) ast.Expr { return ast.NewBinExpr(token.AND, schema.expr(), spec) })
}

// mapField returns a copy of data in which the value of one field is replaced.
func mapField(data *ast.StructLit, name string, replace func(ast.Expr) ast.Expr) *ast.StructLit {
	mapped := &ast.StructLit{Lbrace: data.Lbrace}
	for _, d := range data.Elts {
		f := d.(*ast.Field)
		value := f.Value
		if cuesyntax.LabelName(f.Label) == name {
			value = replace(value)
		}
		mapped.Elts = append(mapped.Elts, &ast.Field{Label: f.Label, Value: value})
	}
	return mapped
}
