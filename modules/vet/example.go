package vet

import (
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// example has a value for everything that a schema declares. Samples are made from it:
// that with everything by [example.everything], and others by [sample.fill].
//
// The schema {name: string, size: int | *1, on: bool | *false, tls?: {host: string}}
// has the example
//
//	name {value: "unspecified"}
//	size {}, because its default will do
//	on   {full: true}
//	tls  {optional, fields: host {value: "unspecified"}}
type example struct {
	// optional means that the field may be absent.
	optional bool
	// value is the value of a scalar that has no default, or nil.
	value ast.Expr
	// generated is a string for a scalar without value, made from its pattern, or nil.
	generated ast.Expr
	// full is the value in the sample with everything, or nil.
	full ast.Expr
	// fields are the examples of the fields of a struct, and item is that of the items
	// of a list or map. at leads to the item.
	fields map[string]*example
	item   *example
	at     element
}

// exampleOf returns the example of a schema. A nullable value has that of the value
// that is not null. Other disjunctions of structs or lists are left open, and so are
// fields that exist only for some inputs. needed means that no default supplies the
// value.
func exampleOf(of schema, needed, optional bool) *example {
	of.shape, _ = shape.WithoutNull(of.shape)
	x := &example{optional: optional}
	if of.isScalar() {
		if e := of.anyValue(); needed && isLiteral(e) {
			x.value = e
		} else if needed {
			x.generated = of.generated()
		}
		if yes := ast.NewBool(true); shape.KindsOf(of.shape) == shape.BoolKind && of.takes(yes) {
			x.full = yes
		} else if optional {
			x.full = x.value
		}
		return x
	}
	if len(of.shape) != 1 {
		return x
	}
	if o := of.shape[0].Object; o != nil {
		x.fields = map[string]*example{}
		for _, f := range o.Fields {
			if !f.Guarded {
				x.fields[f.Name] = exampleOf(of.below("."+f.Name, element{field: f.Name}, f.Shape), f.Required || f.Optional, f.Optional)
			}
		}
	}
	if item, ok := of.item(); ok && (of.shape[0].List != nil || !item.shape.IsAnything()) {
		x.at = item.wantPath[len(item.wantPath)-1]
		x.item = exampleOf(item, true, false)
	}
	return x
}

// everything returns the sample with everything: all optional fields, one item in
// every list and map, and true for every boolean. Required scalars are left to fill.
func (x *example) everything() *sample {
	s := &sample{value: x.full}
	for name, f := range x.fields {
		*s.at(element{field: name}) = *f.everything()
	}
	if x.item != nil {
		*s.at(x.at) = *x.item.everything()
	}
	return s
}

// complete returns a copy of x in which generated strings are values, and appends
// those strings to texts.
func (x *example) complete(texts *[]string) *example {
	if x == nil {
		return nil
	}
	c := *x
	if x.generated != nil {
		c.value = x.generated
		text, _ := cuesyntax.Text(x.generated)
		*texts = append(*texts, text)
	}
	c.fields = map[string]*example{}
	for name, f := range x.fields {
		c.fields[name] = f.complete(texts)
	}
	c.item = x.item.complete(texts)
	return &c
}

// larger returns a copy of x whose integers are 100.
func (x *example) larger() *example {
	if x == nil {
		return nil
	}
	c := *x
	if l, ok := x.value.(*ast.BasicLit); ok && l.Kind == token.INT {
		c.value = ast.NewLit(token.INT, "100")
	}
	c.fields = map[string]*example{}
	for name, f := range x.fields {
		c.fields[name] = f.larger()
	}
	c.item = x.item.larger()
	return &c
}

// fill sets the required scalars of a sample that are not set. CUE treats a
// scalar that is not concrete like a missing one, so everything that depends on
// it would be unknown.
//
// Optional fields, and items of lists and maps, are filled only where the sample
// already has them. Required structs are created if they hold a scalar.
func (s *sample) fill(x *example) {
	switch {
	case x == nil || s.value != nil && isLiteral(s.value):
		return
	case x.value != nil:
		s.value = x.value
		return
	}
	if s.item != nil {
		s.item.fill(x.item)
	}
	for name, at := range s.fields {
		// A name that the schema does not declare is the key of a map.
		if x.fields[name] == nil {
			at.fill(x.item)
		}
	}
	for name, f := range x.fields {
		if s.fields[name] != nil || !f.optional && f.hasValues() {
			s.at(element{field: name}).fill(f)
		}
	}
}

// hasValues reports whether x holds a value that every instance must set: its
// own, or that of a required field at any depth.
func (x *example) hasValues() bool {
	if x.value != nil {
		return true
	}
	for _, f := range x.fields {
		if !f.optional && f.hasValues() {
			return true
		}
	}
	return false
}
