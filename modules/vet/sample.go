package vet

import (
	"maps"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
)

// sampleName is the name and the namespace of sample instances.
const sampleName = "example"

// sampleKeys returns names to try for an item of the list or map at a path. The
// first ones contain the name of the field, so that items of different lists get
// different names: objects with the same name by accident would be reported as
// one object.
//
// For the path spec.ports[].name it returns example-ports, exampleports, example
// and EXAMPLE: schemas may allow no dashes, or only capitals.
func sampleKeys(path string) []string {
	// The innermost list on the path gives the name; without one, the last field
	// does.
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

// sample is an input in which only some values are set. Exactly one of the fields
// is set, or none for an unset value.
type sample struct {
	// fields are the fields of a struct, or the items of a map by key.
	fields map[string]*sample
	// item is the only item of a list.
	item *sample
	// value is a literal.
	value ast.Expr
}

// set changes the sample so that it satisfies the wants. A want for no value
// deletes the field. A want for any value keeps what is there. Every other want
// replaces the value.
//
// Later wants win over earlier ones.
func (s *sample) set(wants ...want) {
	for _, w := range wants {
		at := s
		for i, step := range w.path {
			if w.value == nil && i == len(w.path)-1 {
				delete(at.fields, step.field)
				at = nil
				break
			}
			at = at.at(step)
		}
		if at != nil && (!w.present || at.fields == nil && at.item == nil && at.value == nil) {
			*at = sample{value: w.value}
		}
	}
}

// at returns the sample of a field or item, and creates it if necessary. A
// literal in s is dropped, since s becomes a struct or list.
func (s *sample) at(to element) *sample {
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

// has reports whether the sample has all items on a path. The fields below the
// last item need not exist. A want on a label applies only to items that the
// sample has.
func (s *sample) has(at []element) bool {
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

// below returns the sample of a field or item, or nil.
func (s *sample) below(to element) *sample {
	if to == listItem {
		return s.item
	}
	return s.fields[to.field]
}

// clone returns a deep copy. Literals are shared, since they are never changed.
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

// syntax returns the sample as CUE. Every call returns new nodes, because CUE's
// compiler marks the nodes that it has seen. Fields are sorted, so that equal
// samples have equal syntax. An unset value becomes _.
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

// copyLiteral copies a literal without the marks of CUE's compiler.
func copyLiteral(e ast.Expr) ast.Expr {
	switch x := e.(type) {
	case *ast.BasicLit:
		return &ast.BasicLit{Kind: x.Kind, Value: x.Value}
	case *ast.UnaryExpr:
		return &ast.UnaryExpr{Op: x.Op, X: copyLiteral(x.X)}
	}
	return ast.NewIdent("_")
}
