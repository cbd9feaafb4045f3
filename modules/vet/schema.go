package vet

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/schema/read"
	"github.com/pequod-io/pequod/internal/schema/shape"
)

// schema is a part of the input's schema, such as that which input.spec.ports[0].name
// refers to.
type schema struct {
	// path is the path in the input for messages, such as spec.ports[].name.
	path string
	// wantPath is the path of a sample value that satisfies the schema.
	wantPath []element
	// shape has the values that the schema admits. It may admit more than CUE does.
	shape shape.Shape
}

// inputSchema returns the schema of an input: input is that of #Render or #Policy, and
// spec the definition that the spec must satisfy. What cannot be read admits
// everything; the check of the CRD reports why.
func inputSchema(input, spec cue.Value) schema {
	o := &shape.Object{Open: input.Allows(cue.AnyString)}
	it, err := input.Fields(cue.Optional(true))
	for err == nil && it.Next() {
		name, v := it.Selector().Unquoted(), it.Value()
		if name == "spec" {
			v = spec
		}
		f := shape.Field{Name: name, Shape: shape.Any(), Optional: it.IsOptional()}
		if found, err := read.Value(v, name, name); err == nil {
			f.Shape = found.Field.Shape
		}
		o.Fields = append(o.Fields, f)
	}
	slices.SortFunc(o.Fields, func(f, g shape.Field) int { return shape.ByName(f, g.Name) })
	return schema{shape: shape.Shape{{Kind: shape.StructKind, Object: o}}}
}

// below returns the schema of a field or item. path is appended to the path for
// messages, and e to the path for samples.
func (of schema) below(path string, e element, s shape.Shape) schema {
	return schema{path: strings.TrimPrefix(of.path+path, "."), wantPath: append(slices.Clone(of.wantPath), e), shape: s}
}

// objects returns the structs that the schema admits. It returns false if a field may
// be found elsewhere: in a value that may be anything, or in one that is no struct,
// which is an error that evaluation reports.
func (of schema) objects() (all []*shape.Object, ok bool) {
	for _, t := range of.shape {
		switch {
		case t.Kind == shape.StructKind:
			all = append(all, t.Object)
		case t.Kind == shape.TopKind, len(of.shape) == 1:
			return nil, false
		}
	}
	return all, len(of.shape) > 0
}

// field returns the schema of a field. It returns false if no alternative declares the
// field, or if one admits it without declaring it.
func (of schema) field(name string) (to schema, ok bool) {
	to = of.below("."+name, element{field: name}, nil)
	objects, _ := of.objects()
	for _, o := range objects {
		if f := o.Lookup(name); f != nil {
			to.shape, ok = append(to.shape, f.Shape...), true
		} else if o.AdmitsName(name) {
			return schema{}, false
		}
	}
	return to, ok
}

// lacks reports whether no alternative admits a field, and returns the names of the
// fields that they declare.
func (of schema) lacks(name string) (known []string, ok bool) {
	objects, ok := of.objects()
	for _, o := range objects {
		ok = ok && !o.AdmitsName(name)
		for _, f := range o.Fields {
			known = append(known, f.Name)
		}
	}
	return known, ok
}

// item returns the schema of the items of a list or map, and false if it is
// unknown. For a map, the path for samples uses a key that the map accepts: one
// of sampleKeys. In a struct with fields, an item may be one of those.
func (of schema) item() (schema, bool) {
	item := of.below("[]", listItem, nil)
	for _, t := range of.shape {
		if t.Kind == shape.ListKind {
			item.shape = append(item.shape, t.List.Rest...)
		}
		if t.Kind == shape.StructKind && len(t.Object.Fields) > 0 {
			return schema{}, false
		}
	}
	if len(item.shape) > 0 {
		return item, true
	}
	for _, key := range sampleKeys(of.path) {
		for _, t := range of.shape {
			if t.Kind == shape.StructKind && t.Object.AdmitsName(key) {
				values := t.Object.Values
				if values == nil {
					values = shape.Any()
				}
				return of.below("[]", element{key, true}, values), true
			}
		}
	}
	return schema{}, false
}

// isScalar reports whether the schema admits nothing but scalars, null included.
func (of schema) isScalar() bool {
	kinds := shape.KindsOf(of.shape)
	return kinds != shape.BottomKind && kinds&(shape.StructKind|shape.ListKind) == 0
}

// takes reports whether the schema accepts a value. The result may be true for a value
// that CUE refuses, but not the other way around.
func (of schema) takes(e ast.Expr) bool { return len(shape.Intersect(of.shape, shapeOf(e))) > 0 }

// shapeOf returns the values that an expression without references admits: those of a
// bound such as >3, or a literal. It admits everything if the expression is invalid.
func shapeOf(e ast.Expr) shape.Shape {
	const name = "x"
	v := cuecontext.New().BuildExpr(ast.NewStruct(name, e))
	found, err := read.Value(v, name, name)
	if err != nil {
		return shape.Any()
	}
	return found.Field.Shape[0].Object.Lookup(name).Shape
}

// literals returns the scalars that the schema lists, such as those of an enumeration.
// For *"small" | "large" it returns both.
func (of schema) literals() []ast.Expr {
	var all []ast.Expr
	for _, t := range of.shape {
		if t.Value == nil || t.Kind == shape.NullKind {
			continue
		}
		if e, err := parser.ParseExpr("literal", t.Value.JSON); err == nil {
			all = append(all, e)
		}
	}
	return all
}

// anyValue returns any value that the schema accepts, or _ if it finds none. A
// scalar must be concrete, because CUE treats a scalar that is not like a missing
// one. Literals of the schema come first: they are more likely to be meant than a
// placeholder.
func (of schema) anyValue() ast.Expr {
	if of.isScalar() {
		for _, candidate := range append(of.literals(), commonValues...) {
			if of.takes(candidate) {
				return candidate
			}
		}
	}
	return ast.NewIdent("_")
}

// candidates returns values of the schema to try: its literals, the neighbors of
// the literal that it is compared with, sample names, and common values. The
// neighbors satisfy strict comparisons: for a guard such as replicas > 3 they are
// 4 and 2. with may be nil.
func (of schema) candidates(with ast.Expr) []ast.Expr {
	all := of.literals()
	if with != nil {
		for _, op := range []token.Token{token.ADD, token.SUB} {
			near := cuecontext.New().BuildExpr(&ast.BinaryExpr{Op: op, X: with, Y: ast.NewLit(token.INT, "1")})
			if e, ok := near.Syntax(cue.Final()).(ast.Expr); ok && near.Err() == nil {
				all = append(all, e)
			}
		}
	}
	for _, key := range sampleKeys(of.path) {
		all = append(all, ast.NewString(key))
	}
	all = append(all, ast.NewBool(true), ast.NewBool(false), ast.NewLit(token.INT, "1"), ast.NewLit(token.INT, "8080"))
	return slices.DeleteFunc(all, func(e ast.Expr) bool { return !of.takes(e) })
}

// placeholder is part of all strings that samples invent. Checks ignore them,
// because they say nothing about real instances.
const placeholder = "unspecified"

// commonValues are values that many schemas accept, in the order in which they
// are tried: a plain name, a path, a domain name, an upper-case name, booleans, a
// small number, a port, a fraction, and a number, a quantity of memory and a
// duration (or CPU quantity) as strings.
var commonValues = []ast.Expr{
	ast.NewString(placeholder), ast.NewString("/" + placeholder), ast.NewString(placeholder + "." + placeholder), ast.NewString(strings.ToUpper(placeholder)),
	ast.NewBool(true), ast.NewBool(false), ast.NewLit(token.INT, "1"), ast.NewLit(token.INT, "8080"), ast.NewLit(token.FLOAT, "0.5"),
	ast.NewString("1"), ast.NewString("1Gi"), ast.NewString("1m"),
}

// isPlaceholder reports whether a string comes from a sample. It ignores case,
// because of the upper-case candidate, and accepts strings that the module
// composed from a placeholder.
func isPlaceholder(s string) bool { return strings.Contains(strings.ToLower(s), placeholder) }
