package diagnose

import (
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// Normalize returns an instance's data as the API server would store it, so
// that a file renders like the stored object: without nulls on fields that do
// not admit null, each with a warning, and with floats where an integer stands
// for one. spec is the schema of the spec. Normalize does not change data; it
// returns nil if there is nothing to change.
//
// Only the spec is normalized: metadata is the API server's own.
func Normalize(data *ast.StructLit, spec cue.Value) (*ast.StructLit, problem.List) {
	n := &normalizer{}
	whole := &ast.StructLit{Lbrace: data.Lbrace}
	for _, d := range data.Elts {
		f := d.(*ast.Field)
		value := f.Value
		if cuesyntax.LabelName(f.Label) == "spec" && dataKind(value) == cue.NullKind {
			n.dropNull(value, "spec")
			value = &ast.StructLit{Lbrace: value.Pos()}
		} else if cuesyntax.LabelName(f.Label) == "spec" {
			value = n.value(value, []cue.Value{spec}, "spec")
		}
		whole.Elts = append(whole.Elts, &ast.Field{Label: f.Label, Value: value})
	}
	if !n.changed {
		return nil, nil
	}
	return whole, n.warnings
}

// normalizer collects the changes to one instance.
type normalizer struct {
	// changed is true after any change; only dropped nulls are warnings.
	changed  bool
	warnings problem.List
}

// dropNull records that a null was dropped.
func (n *normalizer) dropNull(null ast.Expr, path string) {
	n.changed = true
	n.warnings = append(n.warnings, problem.Problem{
		Position: cuesyntax.Position(null.Pos()), Path: path, Rule: problem.RuleNull, Severity: problem.Warning,
		Message: "null is dropped, as the API server would", Hint: "leave the field out",
	})
}

// value normalizes a value that must match one of several schemas. Inside a union
// there is more than one: a null is dropped only if none of them admits null, and
// an integer becomes a float only if none of them admits an integer.
func (n *normalizer) value(e ast.Expr, schemas []cue.Value, path string) ast.Expr {
	var all []cue.Value
	var kinds cue.Kind
	for _, s := range schemas {
		all = append(all, alternatives(s)...)
		kinds |= schemaKinds(s)
	}
	switch x := e.(type) {
	case *ast.StructLit:
		s := &ast.StructLit{Lbrace: x.Lbrace}
		for _, f := range cuesyntax.Fields(x) {
			name := cuesyntax.LabelName(f.Label)
			at := fieldpath.Join(path, name)
			subs := existing(all, func(v cue.Value) cue.Value { return fieldSchema(v, name) })
			if dataKind(f.Value) == cue.NullKind && len(subs) > 0 && !slices.ContainsFunc(subs, mayBeNull) {
				n.dropNull(f.Value, at)
				continue
			}
			s.Elts = append(s.Elts, &ast.Field{Label: f.Label, Value: n.value(f.Value, subs, at)})
		}
		return s
	case *ast.ListLit:
		l := &ast.ListLit{Lbrack: x.Lbrack}
		for i, e := range x.Elts {
			subs := existing(all, func(v cue.Value) cue.Value {
				if item := v.LookupPath(cue.MakePath(cue.Index(i))); item.Exists() {
					return item
				}
				return v.LookupPath(cue.MakePath(cue.AnyIndex))
			})
			l.Elts = append(l.Elts, n.value(e, subs, path+fieldpath.Index(i)))
		}
		return l
	case *ast.BasicLit:
		if x.Kind == token.INT && kinds&cue.NumberKind == cue.FloatKind {
			n.changed = true
			return &ast.BasicLit{ValuePos: x.ValuePos, Kind: token.FLOAT, Value: x.Value + ".0"}
		}
	}
	return e
}

// existing returns the results of sub for schemas that have one.
func existing(schemas []cue.Value, sub func(cue.Value) cue.Value) []cue.Value {
	var subs []cue.Value
	for _, s := range schemas {
		if v := sub(s); v.Exists() {
			subs = append(subs, v)
		}
	}
	return subs
}

// mayBeNull reports whether a schema admits null, or its kinds are not known.
func mayBeNull(v cue.Value) bool {
	k := schemaKinds(v)
	return k == cue.BottomKind || k&cue.NullKind != 0
}

// fieldSchema returns the schema of a field: regular, optional or by pattern.
func fieldSchema(schema cue.Value, name string) cue.Value {
	for _, sel := range []cue.Selector{cue.Str(name), cue.Str(name).Optional(), cue.AnyString} {
		if v := schema.LookupPath(cue.MakePath(sel)); v.Exists() {
			return v
		}
	}
	return cue.Value{}
}
