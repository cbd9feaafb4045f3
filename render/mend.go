package render

import (
	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// mend does to an instance what the API server does before anybody else reads
// it, so that a file renders like the stored object: a null on a field that
// takes none is dropped, with a warning, and an integer stands for a float. It
// gives nil where there was nothing to mend; the instance stays as it is.
func mend(data *ast.StructLit, root cue.Value) (*ast.StructLit, Problems) {
	m := &mender{}
	whole := &ast.StructLit{Lbrace: data.Lbrace}
	for _, d := range data.Elts {
		f := d.(*ast.Field)
		value := f.Value
		if labelName(f.Label) == "spec" {
			value = m.value(value, root.LookupPath(cue.MakePath(cue.Def("Input"))), "spec")
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
	warnings Problems
}

func (m *mender) value(e ast.Expr, schema cue.Value, path string) ast.Expr {
	switch x := e.(type) {
	case *ast.StructLit:
		s := &ast.StructLit{Lbrace: x.Lbrace}
		for _, d := range x.Elts {
			f := d.(*ast.Field)
			name := labelName(f.Label)
			sub := fieldSchema(schema, name)
			at := joinPath(path, name)
			if isNullLit(f.Value) && sub.Exists() && sub.IncompleteKind()&cue.NullKind == 0 && sub.IncompleteKind() != cue.BottomKind {
				m.changed = true
				m.warnings = append(m.warnings, Problem{
					Pos: posOf(f.Value.Pos()), Path: at, Rule: RuleNull, Level: Warning,
					Message: "null is dropped, as the API server would", Hint: "leave the field out",
				})
				continue
			}
			value := f.Value
			if sub.Exists() {
				value = m.value(f.Value, sub, at)
			}
			s.Elts = append(s.Elts, &ast.Field{Label: f.Label, Value: value})
		}
		return s
	case *ast.ListLit:
		l := &ast.ListLit{Lbrack: x.Lbrack}
		item := schema.LookupPath(cue.MakePath(cue.AnyIndex))
		for i, e := range x.Elts {
			if item.Exists() {
				e = m.value(e, item, path+indexPath(i))
			}
			l.Elts = append(l.Elts, e)
		}
		return l
	case *ast.BasicLit:
		if x.Kind == token.INT && schema.IncompleteKind()&cue.NumberKind == cue.FloatKind {
			m.changed = true
			return &ast.BasicLit{ValuePos: x.ValuePos, Kind: token.FLOAT, Value: x.Value + ".0"}
		}
	}
	return e
}

func isNullLit(e ast.Expr) bool {
	l, ok := e.(*ast.BasicLit)
	return ok && l.Kind == token.NULL
}
