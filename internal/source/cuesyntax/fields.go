package cuesyntax

import (
	"strconv"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// LabelName returns the name of a field's label, or "" for a pattern or a
// computed label.
func LabelName(l ast.Label) string {
	name, _, err := ast.LabelName(l)
	if err != nil {
		return ""
	}
	return name
}

// FieldName returns the name of a declaration that is a field, or "".
func FieldName(d ast.Decl) string {
	f, ok := d.(*ast.Field)
	if !ok {
		return ""
	}
	return LabelName(f.Label)
}

// Field returns the field of a struct with the given name, or nil. s may be
// nil.
func Field(s *ast.StructLit, name string) *ast.Field {
	if s == nil {
		return nil
	}
	for _, d := range s.Elts {
		if f, ok := d.(*ast.Field); ok && LabelName(f.Label) == name {
			return f
		}
	}
	return nil
}

// Fields returns the fields of a struct that holds data, and so nothing but
// fields.
func Fields(s *ast.StructLit) []*ast.Field {
	fields := make([]*ast.Field, 0, len(s.Elts))
	for _, e := range s.Elts {
		fields = append(fields, e.(*ast.Field))
	}
	return fields
}

// Struct returns a struct with the given fields, in order.
func Struct(fields []*ast.Field, more ...*ast.Field) *ast.StructLit {
	s := &ast.StructLit{}
	for _, f := range fields {
		s.Elts = append(s.Elts, f)
	}
	for _, f := range more {
		s.Elts = append(s.Elts, f)
	}
	return s
}

// Item returns the item of a list at a decimal index, or nil.
func Item(l *ast.ListLit, index string) ast.Expr {
	if i, err := strconv.Atoi(index); err == nil && i >= 0 && i < len(l.Elts) {
		return l.Elts[i]
	}
	return nil
}

// ValueAt returns the value at a path below e, or nil if the data has none. The
// path is in the form that [fieldpath.Split] returns.
func ValueAt(e ast.Expr, path []string) ast.Expr {
	for _, part := range path {
		switch x := e.(type) {
		case *ast.StructLit:
			f := Field(x, part)
			if f == nil {
				return nil
			}
			e = f.Value
		case *ast.ListLit:
			e = Item(x, part)
		default:
			return nil
		}
	}
	return e
}

// PathString formats the selectors of a CUE path as package fieldpath does.
func PathString(selectors []cue.Selector) string {
	var path string
	for _, s := range selectors {
		switch s.LabelType() {
		case cue.IndexLabel:
			path += fieldpath.Index(s.Index())
		case cue.StringLabel:
			path = fieldpath.Join(path, s.Unquoted())
		default:
			path = fieldpath.Join(path, s.String())
		}
	}
	return path
}

// UnquoteLabel returns an element of the path of a CUE error without the quotes
// that CUE may have put around it.
func UnquoteLabel(s string) string {
	if u, err := strconv.Unquote(s); err == nil {
		return u
	}
	return s
}
