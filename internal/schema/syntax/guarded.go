package syntax

import (
	"maps"
	"slices"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// Guarded describes what the bodies of ifs and fors whose clauses depend on the
// instance may add to a struct. A field that it names may be present or absent,
// may be narrower, and may be supplied; it is never required and has no default.
// A nil Guarded adds nothing. For if tls {port: 443, cert!: string} Fields has
// port and cert, and Regular has port.
type Guarded struct {
	// Fields are the expressions that may be added to a field, by its name.
	Fields map[string][]ast.Expr
	// Regular are the fields that a body may declare without ? or !. Only those
	// can be supplied.
	Regular map[string]bool
	// Open means that any field may be added.
	Open bool
	// Deep means that anything may be added at any depth.
	Deep bool
	// Attributed is the position of a @k8s attribute in a body, which is an
	// error. It is invalid if there is none.
	Attributed token.Pos
}

// Opaque returns a copy of c that may add anything anywhere.
func (c *Guarded) Opaque() *Guarded {
	out := c.Clone()
	out.Open, out.Deep = true, true
	return out
}

// Clone returns a deep copy of c, which may be nil, to add to.
func (c *Guarded) Clone() *Guarded {
	out := &Guarded{Fields: map[string][]ast.Expr{}, Regular: map[string]bool{}}
	if c == nil {
		return out
	}
	out.Open, out.Deep, out.Attributed = c.Open, c.Deep, c.Attributed
	for name, exprs := range c.Fields {
		out.Fields[name] = slices.Clone(exprs)
	}
	maps.Copy(out.Regular, c.Regular)
	return out
}

// Loosens reports whether adding e to a field makes it admit more than its own
// schema does, such as further fields.
func Loosens(e ast.Expr) bool {
	own := (*Guarded)(nil).Clone()
	own.add(e)
	return own.Open || own.Deep || len(own.Fields) > 0
}

// Names returns the fields that c may add, sorted.
func (c *Guarded) Names() []string {
	if c == nil {
		return nil
	}
	var out []string
	for name := range c.Fields {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Exprs returns the expressions that c may add to the field.
func (c *Guarded) Exprs(name string) []ast.Expr {
	if c == nil {
		return nil
	}
	return c.Fields[name]
}

// Touches reports whether c may add anything to the field.
func (c *Guarded) Touches(name string) bool {
	return c != nil && (c.Deep || len(c.Fields[name]) > 0)
}

// OnlyBounds reports whether c adds only bounds to the field, so that it never
// supplies a value.
func (c *Guarded) OnlyBounds(name string) bool {
	return c != nil && !c.Deep && AllBound(c.Fields[name])
}

// AllBound reports whether all expressions are bounds, so that they supply no
// value, not even together.
func AllBound(exprs []ast.Expr) bool {
	return !slices.ContainsFunc(exprs, func(e ast.Expr) bool { return !IsBound(e) })
}

// Field returns what c may add inside of the field. It is nil if c adds nothing
// to the field.
func (c *Guarded) Field(name string) *Guarded {
	if c == nil {
		return nil
	}
	if c.Deep {
		return c.Opaque()
	}
	var out *Guarded
	for _, e := range c.Fields[name] {
		if out == nil {
			out = out.Clone()
		}
		out.add(e)
	}
	return out
}

// add adds the fields of e, or anything at all if e isn't a literal. The members
// of & and | are added one by one: each may contribute fields.
func (c *Guarded) add(e ast.Expr) {
	switch x := Expression(e).(type) {
	case *ast.StructLit:
		for _, d := range x.Elts {
			c.AddDecl(d)
		}
	case *ast.BinaryExpr:
		if x.Op == token.AND || x.Op == token.OR {
			c.add(x.X)
			c.add(x.Y)
			return
		}
		c.Open, c.Deep = true, true
	case *ast.UnaryExpr:
		if x.Op == token.MUL {
			c.add(x.X)
		}
	case *ast.BasicLit, *ast.BottomLit:
		// A scalar adds no fields.
	case *ast.Ident:
		if x.Node != nil || !slices.Contains(BasicTypes(), x.Name) {
			c.Open, c.Deep = true, true
		}
	default:
		c.Open, c.Deep = true, true
	}
}

// AddDecl adds one declaration of a body. An embedding that is no comprehension,
// and a field with a computed name, may add anything.
func (c *Guarded) AddDecl(d ast.Decl) {
	switch x := d.(type) {
	case *ast.Field:
		if pos, ok := attributed(x); ok {
			c.Attributed = pos
		}
		name, ok := StaticName(x.Label)
		if !ok {
			c.Open, c.Deep = true, true
			return
		}
		c.Fields[name] = append(c.Fields[name], x.Value)
		c.Regular[name] = c.Regular[name] || x.Constraint == token.ILLEGAL
	case *ast.Comprehension:
		c.AddComprehension(x)
	case *ast.EmbedDecl:
		if inner, ok := x.Expr.(*ast.Comprehension); ok {
			c.AddComprehension(inner)
			return
		}
		c.Open, c.Deep = true, true
	case *ast.Ellipsis:
		c.Open = true
	}
}

// AddComprehension adds the bodies of a comprehension.
func (c *Guarded) AddComprehension(x *ast.Comprehension) {
	c.add(x.Value)
	if x.Fallback != nil {
		c.add(x.Fallback.Body)
	}
}

// StaticName returns the name of a field whose label isn't computed.
// Definitions and hidden fields have names, too, but no instance can set them.
func StaticName(l ast.Label) (string, bool) {
	if a, ok := l.(*ast.Alias); ok {
		inner, ok := a.Expr.(ast.Label)
		if !ok {
			return "", false
		}
		return StaticName(inner)
	}
	switch l.(type) {
	case *ast.Ident, *ast.BasicLit:
		name, _, err := ast.LabelName(l)
		return name, err == nil
	}
	return "", false
}
