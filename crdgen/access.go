package crdgen

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// access is a field of self: its CEL expression, what has to be asked before it
// can be read, and what the schema says of it.
type access struct {
	text  string
	shape shape
	// guards are the fields on the way that may be absent, itself included.
	guards []guard
	// conditional fields are declared by comprehensions alone.
	conditional bool
}

// guard is a field that may be absent.
type guard struct {
	text string
	// optional fields stay absent; the others are filled in when rendering,
	// unless value, their default in the schema, came first.
	optional bool
	value    bool
	// nullable fields may be there and null, which CEL takes for absent.
	nullable bool
	// filled fields may have a value of their own under a condition, which in
	// those that clash may contradict the one that they have without.
	filled, clashes bool
	// variable, where it is set, stands for each item of the list or each key of
	// the map that text is; the other guards then come with it.
	variable string
}

// look is the field at path from self.
func (t *translator) look(path []string) (access, bool) {
	o := t.frame.object
	a := access{text: selfMark}
	if !slices.Contains(t.fields, path[0]) {
		t.fields = append(t.fields, path[0])
	}
	for i, name := range path {
		if name == eachItem || name == eachValue {
			if !a.enter(name) {
				return access{}, false
			}
			o = nil
			if len(a.shape) == 1 && a.shape[0].kind == cue.StructKind {
				o = a.shape[0].object
			}
			continue
		}
		if o == nil {
			return access{}, false
		}
		f := o.lookup(name)
		at, ok := celField(a.text, name)
		if f == nil || !ok || !isAccessible(f.shape) {
			return access{}, false
		}
		a.text, a.shape, a.conditional = at, f.shape, f.conditional
		if !f.required {
			a.guards = append(a.guards, guard{text: "has(" + at + ")", optional: f.optional, value: f.value != nil, nullable: isNullable(f.shape), filled: f.filled, clashes: f.clashes})
		}
		o = nil
		if i < len(path)-1 && len(f.shape) == 1 && f.shape[0].kind == cue.StructKind {
			o = f.shape[0].object
		}
	}
	return a, true
}

// enter leads from a list or a map to each of what it holds.
func (a *access) enter(each string) bool {
	if len(a.shape) != 1 {
		return false
	}
	t := a.shape[0]
	x := variable(a.text)
	switch {
	case each == eachItem && t.kind == cue.ListKind && len(t.list.prefix) == 0 && !t.list.closed:
		a.guards = append(a.guards, guard{text: a.text, variable: x})
		a.text, a.shape = x, t.list.rest
	case each == eachValue && t.kind == cue.StructKind && t.object.isMap():
		a.guards = append(a.guards, guard{text: a.text, variable: x})
		a.text, a.shape = a.text+"["+x+"]", t.object.values
	default:
		return false
	}
	return isAccessible(a.shape)
}

func isNullable(s shape) bool {
	_, nullable := withoutNull(s)
	return nullable
}

// path is the path from self that e, a chain of selectors, names.
func (t *translator) path(e ast.Expr) ([]string, bool) {
	switch x := e.(type) {
	case *ast.ParenExpr:
		return t.path(x.X)
	case *ast.SelectorExpr:
		base, ok := t.path(x.X)
		name, ok2 := staticName(x.Sel)
		return append(base, name), ok && ok2
	case *ast.IndexExpr:
		base, ok := t.path(x.X)
		lit, isLit := x.Index.(*ast.BasicLit)
		if !ok || !isLit || lit.Kind != token.STRING {
			return nil, false
		}
		name, ok := staticName(lit)
		return append(base, name), ok
	case *ast.Ident:
		if let, ok := x.Node.(*ast.LetClause); ok {
			return t.path(let.Expr)
		}
		for i := len(t.frames) - 1; i >= 0; i-- {
			name, ok := declaredName(t.frames[i].literals, x)
			if !ok {
				continue
			}
			var out []string
			for _, s := range t.steps[t.frame.depth:t.frames[i].depth] {
				segment, ok := s.name()
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

// declaredName is the name of the field that id stands for in one of the
// literals.
func declaredName(literals []ast.Node, id *ast.Ident) (string, bool) {
	for _, lit := range literals {
		if lit != id.Scope {
			continue
		}
		s, ok := lit.(*ast.StructLit)
		if !ok {
			return "", false
		}
		for _, d := range s.Elts {
			f, ok := d.(*ast.Field)
			if !ok {
				continue
			}
			name, ok := staticName(f.Label)
			if !ok {
				continue
			}
			if a, isAlias := f.Label.(*ast.Alias); isAlias && a.Ident.Name == id.Name {
				return name, true
			}
			if label, isIdent := f.Label.(*ast.Ident); isIdent && label.Name == id.Name {
				return name, true
			}
		}
	}
	return "", false
}

// strays says whether the last expression reads an item other than the one that
// it is about.
func (t *translator) strays(seen map[string]bool) bool {
	return slices.ContainsFunc(t.needs, func(a access) bool {
		return slices.ContainsFunc(a.guards, func(g guard) bool { return g.variable != "" && !seen[g.text] })
	})
}

// fieldPath is a path as the API server takes it for the field to blame. It is
// empty for names that would have to be escaped.
func fieldPath(path []string) string {
	out := ""
	for _, name := range path {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool {
			return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
		}) {
			return ""
		}
		out += "." + name
	}
	return out
}

// inWords is a path as people write it.
func inWords(path []string) string {
	out := ""
	for i, name := range path {
		switch name {
		case eachItem:
			out += "[]"
			continue
		case eachValue:
			name = "*"
		}
		if i > 0 {
			out += "."
		}
		out += name
	}
	return out
}

// reading is q, of an expression that reads the fields that the translator
// needed, where those are there. CUE rejects an expression that reads an
// optional field that is absent. Where a field is absent that rendering fills
// in, nothing is demanded, and less than all is said.
func (t *translator) reading(seen map[string]bool, q predicate) predicate {
	var guards []guard
	for _, a := range t.needs {
		for _, g := range a.guards {
			if !seen[g.text] {
				seen[g.text] = true
				guards = append(guards, g)
			}
		}
	}
	t.needs = nil
	for _, g := range slices.Backward(guards) {
		if g.optional && !g.nullable && !t.blurred {
			q = allOf(predicate{text: g.text, exact: true}, q)
			continue
		}
		t.defaulted = true
		q = implies(g.text, q)
		q.exact = q.exact && g.value && !g.nullable && !g.optional
	}
	return q
}
