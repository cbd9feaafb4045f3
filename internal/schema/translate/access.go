package translate

import (
	"slices"

	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/schema/cel"
	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
)

// look returns the field at path from self, and records that it is read. It
// reports false if CEL can't read the field. For a.b it returns self.a.b with the
// presences of a and b, as far as these are not required.
func (t *translator) look(path []string) (access, bool) {
	o := t.frame.object
	a := access{operand: operand{text: shape.SelfMark}}
	if !slices.Contains(t.fields, path[0]) {
		t.fields = append(t.fields, path[0])
	}
	for i, name := range path {
		if name == EachItem || name == EachValue {
			if !a.enter(name) {
				return access{}, false
			}
			o = nil
			if len(a.shape) == 1 && a.shape[0].Kind == shape.StructKind {
				o = a.shape[0].Object
			}
			continue
		}
		if o == nil {
			return access{}, false
		}
		f := o.Lookup(name)
		at, ok := cel.Field(a.text, name)
		if f == nil || !ok || !cel.IsAccessible(f.Shape) {
			return access{}, false
		}
		a.text, a.shape, a.conditional = at, f.Shape, f.Guarded
		if !f.Required {
			a.presences = append(a.presences, presence{text: "has(" + at + ")", optional: f.Optional, value: f.Default != nil, nullable: shape.IsNullable(f.Shape), filled: f.GuardFills, clashes: f.GuardClashes})
		}
		o = nil
		if i < len(path)-1 && len(f.Shape) == 1 && f.Shape[0].Kind == shape.StructKind {
			o = f.Shape[0].Object
		}
	}
	return a, true
}

// enter moves a from a list or a map to each of its items or values. The variable
// of the macro becomes the new text; for all items of self.ports it is x, and a
// rule about x ends up in self.ports.all(x, ...).
func (a *access) enter(each string) bool {
	if len(a.shape) != 1 {
		return false
	}
	t := a.shape[0]
	x := cel.Variable(a.text)
	switch {
	case each == EachItem && t.Kind == shape.ListKind && len(t.List.Prefix) == 0 && !t.List.Closed:
		a.presences = append(a.presences, presence{text: a.text, variable: x})
		a.text, a.shape = x, t.List.Rest
	case each == EachValue && t.Kind == shape.StructKind && t.Object.IsMap():
		a.presences = append(a.presences, presence{text: a.text, variable: x})
		a.text, a.shape = a.text+"["+x+"]", t.Object.Values
	default:
		return false
	}
	return cel.IsAccessible(a.shape)
}

// path returns the path from self that e, a chain of selectors, names. For a
// field of an enclosing struct it prepends the segments from self to that struct.
// It reports false if a barrier lies between them, or if e is anything else.
func (t *translator) path(e ast.Expr) ([]string, bool) {
	switch x := e.(type) {
	case *ast.ParenExpr:
		return t.path(x.X)
	case *ast.SelectorExpr:
		base, ok := t.path(x.X)
		name, ok2 := syntax.StaticName(x.Sel)
		return append(base, name), ok && ok2
	case *ast.Ident:
		if let, ok := x.Node.(*ast.LetClause); ok {
			return t.path(let.Expr)
		}
		// The innermost struct comes first, as in CUE's scopes.
		for i := len(t.frames) - 1; i >= 0; i-- {
			name, ok := declaredName(t.frames[i].Literals, x)
			if !ok {
				continue
			}
			var out []string
			for _, s := range t.segments[t.frame.Depth:t.frames[i].Depth] {
				segment, ok := s.Name()
				if !ok {
					return nil, false
				}
				out = append(out, segment)
			}
			return append(out, name), true
		}
	}
	return nil, false
}

// PathOf returns the path from the struct of f that e, a chain of selectors,
// names. Segments are the path from the root to e.
func (f *Frame) PathOf(e ast.Expr, steps []Segment) ([]string, bool) {
	t := translator{frame: f, frames: []*Frame{f}, segments: steps}
	return t.path(e)
}

// declaredName returns the name of the field that id refers to if one of the
// literals declares it. The name differs from the identifier if the field has an
// alias, as in X=name: string.
func declaredName(literals []ast.Node, id *ast.Ident) (string, bool) {
	lit, ok := id.Scope.(*ast.StructLit)
	if !ok || !slices.Contains(literals, id.Scope) {
		return "", false
	}
	for _, d := range lit.Elts {
		if f, ok := d.(*ast.Field); ok && (id.Node == f || id.Node == f.Value) {
			return syntax.StaticName(f.Label)
		}
	}
	return "", false
}

// strays reports whether the last expression, which constrains at, reads an item
// of a list other than the one that it constrains. CEL's macros can't express that.
func (t *translator) strays(at access) bool {
	return slices.ContainsFunc(t.unseen(at), func(g presence) bool { return g.variable != "" })
}

// unseen returns the presences of the fields that the last expression read,
// without repetitions and without those of at.
func (t *translator) unseen(at access) []presence {
	seen := map[string]bool{}
	for _, g := range at.presences {
		seen[g.text] = true
	}
	var out []presence
	for _, a := range t.needs {
		for _, g := range a.presences {
			if !seen[g.text] {
				seen[g.text] = true
				out = append(out, g)
			}
		}
	}
	return out
}

// inWords writes a path for messages, such as ports[].name.
func inWords(path []string) string {
	out := ""
	for i, name := range path {
		switch name {
		case EachItem:
			out += "[]"
			continue
		case EachValue:
			name = "*"
		}
		if i > 0 {
			out += "."
		}
		out += name
	}
	return out
}

// reading returns q guarded by the presence of the fields that the last
// expression read, except those of at, the field that it constrains. CUE rejects an expression that reads an
// absent optional field, so such a field must be present. A field that rendering
// supplies may be absent; then nothing is demanded, and the predicate is not
// exact. For q = self.max >= self.min with an optional min it returns
// has(self.min) && self.max >= self.min, and with a computed min !has(self.min)
// || self.max >= self.min.
func (t *translator) reading(at access, q cel.Predicate) cel.Predicate {
	guards := t.unseen(at)
	t.needs = nil
	// The innermost guard goes next to q: has(self.a.b) fails if self.a is
	// absent.
	for _, g := range slices.Backward(guards) {
		if g.optional && !g.nullable && !t.blurred {
			q = cel.AllOf(cel.Predicate{Text: g.text, Exact: true}, q)
			continue
		}
		t.defaulted = true
		q = cel.Implies(g.text, q)
		q.Exact = q.Exact && g.value && !g.nullable && !g.optional
	}
	return q
}
