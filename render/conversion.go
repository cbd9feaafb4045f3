package render

import (
	"fmt"
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/api/v1alpha1"
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

// Convert converts the spec of an instance to another version of its kind, through the stored
// one, as for an API server. It returns a decoded JSON value. changed is false if no conversion
// is defined between the two versions: the spec then stays as it is, even if its schema does not
// admit it. An object that was stored before its module changed must stay readable.
func (r *Renderer) Convert(in *Instance, p *Platform, to string) (spec any, changed bool, problems problem.List) {
	from := in.Version()
	for _, version := range []string{from, to} {
		if !slices.ContainsFunc(p.Versions, func(v v1alpha1.KindVersion) bool { return v.Name == version }) {
			return nil, false, problem.List{{Path: "apiVersion", Rule: problem.RulePlatform,
				Message: fmt.Sprintf("%s has no version %s", p.GroupKind(), version)}}
		}
	}
	b := r.module(p.Module)
	expr := in.spec
	for _, l := range []leg{{from, toStorage}, {to, fromStorage}} {
		// Conversions that a stored version has are for nothing.
		if from == to || l.version == p.Version || !b.converts(l) {
			continue
		}
		schema, _ := l.versions(p)
		spec, problems = b.convert(l.version, l.conversion, p.Schema(schema), expr)
		if len(problems) > 0 {
			return nil, false, problems
		}
		expr, changed = cuesyntax.Data(spec), true
	}
	return spec, changed, nil
}

// converts reports whether the module defines a conversion.
func (b *builtModule) converts(l leg) bool {
	return b.root.LookupPath(cue.ParsePath(string(versionPath(l.version, l.conversion)))).Exists()
}

// Converts reports whether the module defines a conversion between versions. Otherwise, an
// instance of one version is one of all others.
func (p *Platform) Converts() bool {
	b := p.Module.acquire()
	defer p.Module.giveBack(b)
	return slices.ContainsFunc(p.Versions, func(v v1alpha1.KindVersion) bool {
		return v.Name != p.Version && (b.converts(leg{v.Name, toStorage}) || b.converts(leg{v.Name, fromStorage}))
	})
}

// leg is one conversion of several. version is the one that is not stored,
// and conversion its toStorage or fromStorage.
type leg struct{ version, conversion string }

// versions returns the versions that a leg converts between.
func (l leg) versions(p *Platform) (from, to string) {
	if l.conversion == toStorage {
		return l.version, p.Version
	}
	return p.Version, l.version
}

// convert evaluates a conversion of a version, toStorage or fromStorage, over a
// spec with the defaults of its schema. It returns a decoded JSON value. Without
// the conversion that is the spec itself.
func (b *builtModule) convert(version, conversion string, schema SchemaPath, spec ast.Expr) (any, problem.List) {
	path := versionPath(version, conversion)
	if !b.converts(leg{version, conversion}) {
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
