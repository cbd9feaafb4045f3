package crdgen

import (
	"maps"
	"slices"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// condition is what a struct may hold besides what its schema says without
// conditions: the bodies of comprehensions whose clauses depend on the input.
// What it names may be there or not, may be narrower, and may be supplied; it is
// never required and has no default. A nil condition adds nothing.
type condition struct {
	// fields are the expressions that may be added to a field.
	fields map[string][]ast.Expr
	// regular are the fields that it may make regular ones, which alone supplies
	// a value.
	regular map[string]bool
	// open says that any field may be added.
	open bool
	// deep says that anything may be added at any depth.
	deep bool
	// attributed is where a field has a @k8s attribute, if one has.
	attributed token.Pos
}

// opaque is a condition under which anything may be added anywhere.
func (c *condition) opaque() *condition {
	out := c.clone()
	out.open, out.deep = true, true
	return out
}

// clone is a copy of c to add to.
func (c *condition) clone() *condition {
	out := &condition{fields: map[string][]ast.Expr{}, regular: map[string]bool{}}
	if c == nil {
		return out
	}
	out.open, out.deep, out.attributed = c.open, c.deep, c.attributed
	for name, exprs := range c.fields {
		out.fields[name] = slices.Clone(exprs)
	}
	maps.Copy(out.regular, c.regular)
	return out
}

// loosens says whether what e adds to a field makes it admit more than its own
// schema: other fields, or anything in them.
func loosens(e ast.Expr) bool {
	own := (*condition)(nil).clone()
	own.add(e)
	return own.open || own.deep || len(own.fields) > 0
}

// names are the fields that c may add, sorted.
func (c *condition) names() []string {
	if c == nil {
		return nil
	}
	var out []string
	for name := range c.fields {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// touches says whether c may add anything to the field.
func (c *condition) touches(name string) bool {
	return c != nil && (c.deep || len(c.fields[name]) > 0)
}

// onlyBounds says whether c only narrows the field, so that it never supplies a
// value.
func (c *condition) onlyBounds(name string) bool {
	return c != nil && !c.deep && allBound(c.fields[name])
}

// allBound says whether expressions supply no value, not even together.
func allBound(exprs []ast.Expr) bool {
	return !slices.ContainsFunc(exprs, func(e ast.Expr) bool { return !isBound(e) })
}

// field is what c may add inside of the field.
func (c *condition) field(name string) *condition {
	if c == nil {
		return nil
	}
	if c.deep {
		return c.opaque()
	}
	var out *condition
	for _, e := range c.fields[name] {
		if out == nil {
			out = out.clone()
		}
		out.add(e)
	}
	return out
}

// add adds the fields of e, or anything if e isn't a literal.
func (c *condition) add(e ast.Expr) {
	switch x := expression(e).(type) {
	case *ast.StructLit:
		for _, d := range x.Elts {
			c.addDecl(d)
		}
	case *ast.BinaryExpr:
		if x.Op == token.AND || x.Op == token.OR {
			c.add(x.X)
			c.add(x.Y)
			return
		}
		c.open, c.deep = true, true
	case *ast.UnaryExpr:
		if x.Op == token.MUL {
			c.add(x.X)
		}
	case *ast.BasicLit, *ast.BottomLit:
		// A scalar adds no fields.
	case *ast.Ident:
		if x.Node != nil || !slices.Contains(basicTypes(), x.Name) {
			c.open, c.deep = true, true
		}
	default:
		c.open, c.deep = true, true
	}
}

func (c *condition) addDecl(d ast.Decl) {
	switch x := d.(type) {
	case *ast.Field:
		if pos, ok := attributed(x); ok {
			c.attributed = pos
		}
		name, ok := staticName(x.Label)
		if !ok {
			c.open, c.deep = true, true
			return
		}
		c.fields[name] = append(c.fields[name], x.Value)
		c.regular[name] = c.regular[name] || x.Constraint == token.ILLEGAL
	case *ast.Comprehension:
		c.addComprehension(x)
	case *ast.EmbedDecl:
		if inner, ok := x.Expr.(*ast.Comprehension); ok {
			c.addComprehension(inner)
			return
		}
		c.open, c.deep = true, true
	case *ast.Ellipsis:
		c.open = true
	}
}

func (c *condition) addComprehension(x *ast.Comprehension) {
	c.add(x.Value)
	if x.Fallback != nil {
		c.add(x.Fallback.Body)
	}
}

// staticName is the name of a field whose label isn't computed. Labels of
// definitions and hidden fields have names, too, which no instance can use.
func staticName(l ast.Label) (string, bool) {
	if a, ok := l.(*ast.Alias); ok {
		inner, ok := a.Expr.(ast.Label)
		if !ok {
			return "", false
		}
		return staticName(inner)
	}
	switch l.(type) {
	case *ast.Ident, *ast.BasicLit:
		name, _, err := ast.LabelName(l)
		return name, err == nil
	}
	return "", false
}

// isConditional says whether n lies in a part of the source that holds only for
// some input.
func (r *reader) isConditional(n ast.Node) bool {
	if len(r.conditional) == 0 || isNil(n) {
		return false
	}
	return slices.ContainsFunc(r.conditional, func(s span) bool { return s.contains(n.Pos()) })
}
