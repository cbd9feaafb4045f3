package render

import (
	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// Everything is evaluated from syntax, as a file in the module's scope. An
// expression there would lose the closedness of the definitions that it names;
// and nothing is ever unified with an evaluated value, which CUE's check for
// unknown fields doesn't always survive.

// evalFunc gives what a module makes of an instance's metadata and spec.
type evalFunc func(*ast.StructLit) cue.Value

// in evaluates an expression in the module's scope.
func (b *built) in(expr ast.Expr) cue.Value {
	return b.ctx.BuildFile(&ast.File{Decls: []ast.Decl{&ast.EmbedDecl{Expr: expr}}}, cue.Scope(b.root))
}

// unify gives a definition of the module unified with syntax.
func (b *built) unify(def string, e ast.Expr) cue.Value {
	return b.in(ast.NewBinExpr(token.AND, ast.NewIdent(def), e))
}

var inputSel = cue.Str("input")

func inputError(v cue.Value) error {
	return v.LookupPath(cue.MakePath(inputSel)).Validate(cue.Concrete(true), cue.All())
}

// input evaluates #Render with an instance of a version, and diagnoses the
// instance where it doesn't hold.
func (b *built) input(data *ast.StructLit, p *Platform, version string) (cue.Value, problem.List) {
	if version == p.Version {
		schema := p.Schema(version)
		rendered := b.rendered(schema)
		return b.checked(data, schema, rendered, b.inputAlone, inputOf(rendered))
	}
	stated := b.stated(p.Schema(version))
	v, problems := b.checked(data, p.Schema(version), stated, inputOf(stated))
	if problems.Failed() {
		return v, problems
	}
	v, more := b.converted(data, p, version)
	return v, append(problems, more...)
}

// checked evaluates an input and, where it doesn't hold, mends and diagnoses it.
// What eval gives has the input at input.
func (b *built) checked(data *ast.StructLit, schema SchemaPath, eval evalFunc, evals ...evalFunc) (cue.Value, problem.List) {
	v := eval(data)
	err := inputError(v)
	if err == nil {
		return v, nil
	}
	// What the API server would mend before anybody saw it is mended here too;
	// it takes a look at every field, so only where something is wrong.
	mended, warnings := mend(data, b.root.LookupPath(cue.ParsePath(string(schema))))
	if mended != nil {
		data = mended
		v = eval(data)
		if err = inputError(v); err == nil {
			return v, warnings
		}
	}
	return v, append(warnings, b.diagnose(data, err, evals...)...)
}

// rendered gives #Render with the data of an instance of the stored version,
// whose spec the version's schema has to accept whether or not #Render says so.
func (b *built) rendered(schema SchemaPath) evalFunc {
	return func(data *ast.StructLit) cue.Value {
		return b.unify("#Render", ast.NewStruct("input", withSchema(data, schema)))
	}
}

// inputAlone leaves out what #Render makes of the input: that is most of the
// work of an evaluation, and hardly ever says anything about the input itself.
func (b *built) inputAlone(data *ast.StructLit) cue.Value {
	return b.in(ast.NewBinExpr(token.AND, ast.NewSel(ast.NewIdent("#Render"), "input"), data))
}

// inputOf gives the input of what is evaluated.
func inputOf(eval evalFunc) evalFunc {
	return func(data *ast.StructLit) cue.Value { return eval(data).LookupPath(cue.MakePath(inputSel)) }
}

// withSchema puts a schema to the spec of an input.
func withSchema(data *ast.StructLit, schema SchemaPath) *ast.StructLit {
	input := &ast.StructLit{Lbrace: data.Lbrace}
	for _, d := range data.Elts {
		f := d.(*ast.Field)
		value := f.Value
		if cuesyntax.LabelName(f.Label) == "spec" {
			value = ast.NewBinExpr(token.AND, schema.expr(), value)
		}
		input.Elts = append(input.Elts, &ast.Field{Label: f.Label, Value: value})
	}
	return input
}
