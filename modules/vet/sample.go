package vet

import (
	"maps"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
)

// sampleName is what the instance and its namespace are called in samples.
const sampleName = "example"

// sampleKeys are names to try for an item of the list or map at a path. Each has
// its own where the schema takes that: things that are called alike by chance
// would be one object.
func sampleKeys(path string) []string {
	of := path
	for _, part := range strings.Split(path, ".") {
		if strings.HasSuffix(part, "[]") {
			of = part
		}
	}
	of = of[strings.LastIndex(of, ".")+1:]
	of = strings.Map(func(r rune) rune {
		if r < 'a' || r > 'z' {
			return -1
		}
		return r
	}, strings.ToLower(of))
	all := []string{sampleName, strings.ToUpper(sampleName)}
	if of != "" {
		all = append([]string{sampleName + "-" + of, sampleName + of}, all...)
	}
	return all
}

// sample is an input of which only a part is given.
type sample struct {
	fields map[string]*sample
	item   *sample
	value  ast.Expr // of a leaf
}

// set gives the sample what is wanted.
func (s *sample) set(wants ...want) {
	for _, w := range wants {
		at := s
		for i, step := range w.at {
			if w.value == nil && i == len(w.at)-1 {
				delete(at.fields, step.field)
				at = nil
				break
			}
			at = at.step(step)
		}
		if at != nil && (!w.present || at.fields == nil && at.item == nil && at.value == nil) {
			*at = sample{value: w.value}
		}
	}
}

func (s *sample) step(to step) *sample {
	s.value = nil
	if to == listItem {
		if s.item == nil {
			s.item = &sample{}
		}
		return s.item
	}
	if s.fields == nil {
		s.fields = map[string]*sample{}
	}
	if s.fields[to.field] == nil {
		s.fields[to.field] = &sample{}
	}
	return s.fields[to.field]
}

// has says whether the sample has the items that lie on a way.
func (s *sample) has(at []step) bool {
	last := -1
	for i, to := range at {
		if to.item {
			last = i
		}
	}
	for _, to := range at[:last+1] {
		if s = s.below(to); s == nil {
			return false
		}
	}
	return true
}

func (s *sample) below(to step) *sample {
	if to == listItem {
		return s.item
	}
	return s.fields[to.field]
}

func (s *sample) clone() *sample {
	if s == nil {
		return nil
	}
	c := &sample{item: s.item.clone(), value: s.value}
	for name, f := range s.fields {
		if c.fields == nil {
			c.fields = map[string]*sample{}
		}
		c.fields[name] = f.clone()
	}
	return c
}

// syntax writes the sample. Each call makes its own: CUE's compiler marks it.
func (s *sample) syntax() ast.Expr {
	switch {
	case s.item != nil:
		return ast.NewList(s.item.syntax())
	case s.fields != nil:
		l := ast.NewStruct()
		for _, name := range slices.Sorted(maps.Keys(s.fields)) {
			l.Elts = append(l.Elts, &ast.Field{Label: ast.NewString(name), Value: s.fields[name].syntax()})
		}
		return l
	case s.value != nil:
		return copyLiteral(s.value)
	}
	return ast.NewIdent("_")
}

func copyLiteral(e ast.Expr) ast.Expr {
	switch x := e.(type) {
	case *ast.BasicLit:
		return &ast.BasicLit{Kind: x.Kind, Value: x.Value}
	case *ast.UnaryExpr:
		return &ast.UnaryExpr{Op: x.Op, X: copyLiteral(x.X)}
	}
	return ast.NewIdent("_")
}

// full is the sample that has everything: what is optional, one item in every
// list and map, and true for every boolean. Of unions nothing is chosen.
func full(of schema, depth int) *sample {
	s := &sample{}
	v := of.values[0]
	alts := slices.DeleteFunc(alternatives(v), func(v cue.Value) bool { return v.IncompleteKind() == cue.NullKind })
	if len(alts) != 1 || depth > maxDepth {
		if v.IncompleteKind() == cue.BoolKind && takesTrue(v) {
			s.value = ast.NewBool(true)
		}
		return s
	}
	v = alts[0]
	of = schema{path: of.path, values: alts}
	switch {
	case v.IncompleteKind() == cue.BoolKind && takesTrue(v):
		s.value = ast.NewBool(true)
	case v.IncompleteKind() == cue.StructKind:
		for f, value := range declared(v) {
			field := of.to("."+f.name, step{field: f.name}, value)
			below := full(field, depth+1)
			if f.optional && below.fields == nil && below.item == nil && below.value == nil {
				below.value = field.something()
			}
			s.step(step{field: f.name}).become(below)
		}
		if item, ok := of.element(); ok && s.fields == nil && item.values[0].IncompleteKind() != cue.TopKind {
			s.step(item.steps[0]).become(full(item, depth+1))
		}
	case v.IncompleteKind() == cue.ListKind:
		if e := v.LookupPath(cue.MakePath(cue.AnyIndex)); e.Exists() && !v.LookupPath(cue.MakePath(cue.Index(0))).Exists() {
			s.step(listItem).become(full(of.to("[]", listItem, e), depth+1))
		}
	}
	return s
}

func (s *sample) become(other *sample) { *s = *other }

func takesTrue(v cue.Value) bool { return schema{values: []cue.Value{v}}.takes(ast.NewBool(true)) }
