package render

import (
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/render/diagnose"
)

// In returns a copy of the instance for a cluster. Each of the cluster's values becomes the
// field of its name in spec, if the schema of the kind has this field and the instance
// doesn't set it. A mapping on both sides is filled in field by field. The instance so decides
// before the cluster, and the module checks the result as if one file had all of it.
//
// Rendering calls taken with the name of each value that was filled in; several goroutines do so
// at once.
func (in *Instance) In(cluster string, values *ast.StructLit, taken func(name string)) *Instance {
	c := *in
	c.Cluster, c.values, c.taken = cluster, values, taken
	return &c
}

// dataOf returns the data of an instance with the values of its cluster.
func (b *builtModule) dataOf(in *Instance, p *Platform) *ast.StructLit {
	data := in.data(p)
	spec, ok := in.spec.(*ast.StructLit)
	if !ok || in.values == nil {
		return data
	}
	names := diagnose.FieldNames(b.root.LookupPath(cue.ParsePath(string(p.Schema(in.Version())))))
	spec = &ast.StructLit{Lbrace: spec.Lbrace, Elts: slices.Clone(spec.Elts)}
	for _, f := range cuesyntax.Fields(in.values) {
		if name := cuesyntax.LabelName(f.Label); slices.Contains(names, name) && fill(spec, f) {
			in.taken(name)
		}
	}
	return mapField(data, "spec", func(ast.Expr) ast.Expr { return spec })
}

// fill adds a field that s lacks, in whole or in part, and reports whether it did. Mappings in s
// are copied.
func fill(s *ast.StructLit, f *ast.Field) (filled bool) {
	i := slices.IndexFunc(s.Elts, func(d ast.Decl) bool { return cuesyntax.FieldName(d) == cuesyntax.LabelName(f.Label) })
	if i < 0 {
		s.Elts = append(s.Elts, f)
		return true
	}
	has := s.Elts[i].(*ast.Field)
	inner, ok := has.Value.(*ast.StructLit)
	more, both := f.Value.(*ast.StructLit)
	if !ok || !both {
		return false // the instance sets it
	}
	inner = &ast.StructLit{Lbrace: inner.Lbrace, Elts: slices.Clone(inner.Elts)}
	for _, field := range cuesyntax.Fields(more) {
		filled = fill(inner, field) || filled
	}
	s.Elts[i] = &ast.Field{Label: has.Label, Value: inner}
	return filled
}
