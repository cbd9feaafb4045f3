package render

import (
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// mend does to an instance what the API server does before anybody else reads
// it, so that a file renders like the stored object: a null on a field that
// takes none is dropped, with a warning, and an integer stands for a float. It
// gives nil where there was nothing to mend; the instance stays as it is.
func mend(data *ast.StructLit, spec cue.Value) (*ast.StructLit, problem.List) {
	m := &mender{}
	whole := &ast.StructLit{Lbrace: data.Lbrace}
	for _, d := range data.Elts {
		f := d.(*ast.Field)
		value := f.Value
		if cuesyntax.LabelName(f.Label) == "spec" && isNullLit(value) {
			m.drop(value, "spec")
			value = &ast.StructLit{Lbrace: value.Pos()}
		} else if cuesyntax.LabelName(f.Label) == "spec" {
			value = m.value(value, []cue.Value{spec}, "spec")
		}
		whole.Elts = append(whole.Elts, &ast.Field{Label: f.Label, Value: value})
	}
	if !m.changed {
		return nil, nil
	}
	return whole, m.warnings
}

type mender struct {
	changed  bool
	warnings problem.List
}

func (m *mender) drop(null ast.Expr, path string) {
	m.changed = true
	m.warnings = append(m.warnings, problem.Problem{
		Position: cuesyntax.Position(null.Pos()), Path: path, Rule: problem.RuleNull, Severity: problem.Warning,
		Message: "null is dropped, as the API server would", Hint: "leave the field out",
	})
}

// value mends a value that has to fit one of several schemas: more than one
// where it stands in a union.
func (m *mender) value(e ast.Expr, schemas []cue.Value, path string) ast.Expr {
	var all []cue.Value
	var kinds cue.Kind
	for _, s := range schemas {
		all = append(all, alternatives(s)...)
		kinds |= kindsOf(s)
	}
	switch x := e.(type) {
	case *ast.StructLit:
		s := &ast.StructLit{Lbrace: x.Lbrace}
		for _, f := range cuesyntax.Fields(x) {
			name := cuesyntax.LabelName(f.Label)
			at := fieldpath.Join(path, name)
			subs := existing(all, func(v cue.Value) cue.Value { return fieldSchema(v, name) })
			if isNullLit(f.Value) && len(subs) > 0 && !slices.ContainsFunc(subs, takesNull) {
				m.drop(f.Value, at)
				continue
			}
			s.Elts = append(s.Elts, &ast.Field{Label: f.Label, Value: m.value(f.Value, subs, at)})
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
			l.Elts = append(l.Elts, m.value(e, subs, path+fieldpath.Index(i)))
		}
		return l
	case *ast.BasicLit:
		if x.Kind == token.INT && kinds&cue.NumberKind == cue.FloatKind {
			m.changed = true
			return &ast.BasicLit{ValuePos: x.ValuePos, Kind: token.FLOAT, Value: x.Value + ".0"}
		}
	}
	return e
}

func existing(schemas []cue.Value, sub func(cue.Value) cue.Value) []cue.Value {
	var subs []cue.Value
	for _, s := range schemas {
		if v := sub(s); v.Exists() {
			subs = append(subs, v)
		}
	}
	return subs
}

// takesNull is also true of what can't be told.
func takesNull(v cue.Value) bool {
	k := kindsOf(v)
	return k == cue.BottomKind || k&cue.NullKind != 0
}

func isNullLit(e ast.Expr) bool {
	l, ok := e.(*ast.BasicLit)
	return ok && l.Kind == token.NULL
}

// fieldSchema gives what a struct's schema says of a field, be it regular,
// optional or by pattern.
func fieldSchema(schema cue.Value, name string) cue.Value {
	for _, sel := range []cue.Selector{cue.Str(name), cue.Str(name).Optional(), cue.AnyString} {
		if v := schema.LookupPath(cue.MakePath(sel)); v.Exists() {
			return v
		}
	}
	return cue.Value{}
}
