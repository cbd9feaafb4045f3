package vet

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/format"

	"github.com/pequod-io/pequod/api/nearest"
	"github.com/pequod-io/pequod/render"
)

// selectors looks at what a definition reads of its input. A misspelt name that
// stands in a guard, as in `if input.spec.teir != _|_`, isn't an error to CUE:
// the guard just never holds.
type selectors struct {
	// root is the definition whose input it is.
	root string
	// inputs are the schemas that the input may have.
	inputs []cue.Value
	// made are the names of fields that conditions make: they aren't in a
	// schema before there is an instance.
	made map[string]bool
	// level is how bad it is to read what isn't there.
	level render.Level
	what  string

	problems render.Problems
	never    map[*ast.IfClause]bool
}

func newSelectors(inst *build.Instance, root string, inputs []cue.Value) *selectors {
	return &selectors{root: root, inputs: inputs, made: madeNames(inst), never: map[*ast.IfClause]bool{}}
}

// scope says what names stand for: values of the input's schema.
type scope map[string]schema

// schema is a part of the schemas that the input may have.
type schema struct {
	path   string
	values []cue.Value
}

// check walks the files of a package.
func (s *selectors) check(inst *build.Instance) {
	for _, f := range inst.Files {
		for _, d := range f.Decls {
			field, ok := d.(*ast.Field)
			if !ok {
				continue
			}
			if name, _ := labelName(field.Label); name != s.root {
				continue
			}
			s.expr(field.Value, scope{"input": {"", s.inputs}}, true)
		}
	}
}

// expr looks at an expression. At the top, input is the definition's own field;
// a struct below that has one hides it.
func (s *selectors) expr(e ast.Node, in scope, top bool) {
	if e == nil {
		return
	}
	ast.Walk(e, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.StructLit:
			s.decls(x.Elts, s.inside(x.Elts, in, top), top)
			return false
		case *ast.Comprehension:
			s.comprehension(x, in)
			return false
		case *ast.Field:
			s.expr(x.Value, in, false)
			return false
		case *ast.SelectorExpr, *ast.IndexExpr:
			s.resolve(n.(ast.Expr), in)
			return false
		}
		return true
	}, nil)
}

// inside is the scope in a struct: its own fields hide what they are called like,
// and its lets stand for what they are.
func (s *selectors) inside(decls []ast.Decl, in scope, top bool) scope {
	in = maps.Clone(in)
	for _, d := range decls {
		switch x := d.(type) {
		case *ast.Field:
			name, ok := labelName(x.Label)
			if !ok || top && name == "input" {
				continue
			}
			s.bind(name, x.Value, in)
		case *ast.LetClause:
			s.bind(x.Ident.Name, x.Expr, in)
		}
	}
	return in
}

// bind lets a name stand for an expression.
func (s *selectors) bind(name string, e ast.Expr, in scope) {
	if found, ok := s.quietly(e, in); ok {
		in[name] = found
		return
	}
	delete(in, name)
}

func (s *selectors) decls(decls []ast.Decl, in scope, top bool) {
	for _, d := range decls {
		switch x := d.(type) {
		case *ast.Field:
			if name, _ := labelName(x.Label); top && name == "input" {
				continue // the schema itself
			}
			s.expr(x.Label, in, false)
			s.expr(x.Value, in, false)
		case *ast.LetClause:
			s.expr(x.Expr, in, false)
		case *ast.EmbedDecl:
			s.expr(x.Expr, in, top)
		default:
			s.expr(d, in, false)
		}
	}
}

func (s *selectors) comprehension(c *ast.Comprehension, in scope) {
	in = maps.Clone(in)
	for _, clause := range c.Clauses {
		switch x := clause.(type) {
		case *ast.ForClause:
			s.expr(x.Source, in, false)
			if x.Key != nil {
				delete(in, x.Key.Name)
			}
			if x.Value != nil {
				delete(in, x.Value.Name)
				if of, ok := s.quietly(x.Source, in); ok {
					if values := elems(of.values); len(values) > 0 {
						in[x.Value.Name] = schema{of.path + "[]", values}
					}
				}
			}
		case *ast.LetClause:
			s.expr(x.Expr, in, false)
			s.bind(x.Ident.Name, x.Expr, in)
		case *ast.IfClause:
			s.expr(x.Condition, in, false)
			s.condition(x, in)
		}
	}
	s.expr(c.Value, in, false)
}

// resolve gives what an expression of selectors reads of the input, and tells
// what isn't there.
func (s *selectors) resolve(e ast.Expr, in scope) (schema, bool) {
	switch x := e.(type) {
	case *ast.ParenExpr:
		return s.resolve(x.X, in)
	case *ast.Ident:
		found, ok := in[x.Name]
		return found, ok
	case *ast.SelectorExpr:
		of, ok := s.resolve(x.X, in)
		name, named := labelName(x.Sel)
		if !ok || !named {
			return schema{}, false
		}
		return s.step(of, name, x.Sel)
	case *ast.IndexExpr:
		s.expr(x.Index, in, false)
		of, ok := s.resolve(x.X, in)
		if !ok {
			return schema{}, false
		}
		if name, ok := stringOf(x.Index); ok {
			return s.step(of, name, x.Index)
		}
		return schema{of.path + "[]", elems(of.values)}, len(elems(of.values)) > 0
	case *ast.StructLit, *ast.ListLit, *ast.BinaryExpr, *ast.UnaryExpr, *ast.CallExpr, *ast.Interpolation:
		s.expr(x, in, false)
	}
	return schema{}, false
}

// step goes to a field, and tells one that no schema has.
func (s *selectors) step(of schema, name string, at ast.Node) (schema, bool) {
	to := schema{path: strings.TrimPrefix(of.path+"."+name, ".")}
	known := map[string]bool{}
	for _, v := range of.values {
		for _, alt := range alternatives(v) {
			if alt.IncompleteKind()&cue.StructKind == 0 || alt.IncompleteKind() == cue.TopKind {
				return schema{}, false // nothing is known, or CUE tells
			}
			if f := fieldOf(alt, name); f.Exists() {
				to.values = append(to.values, f)
				continue
			}
			if alt.Allows(cue.Str(name)) {
				return schema{}, false
			}
			it, err := alt.Fields(cue.Optional(true))
			for err == nil && it.Next() {
				known[it.Selector().Unquoted()] = true
			}
		}
	}
	if len(to.values) > 0 {
		return to, true
	}
	if s.made[name] {
		return schema{}, false
	}
	message := "#Input has no " + strings.TrimPrefix(to.path, "spec.")
	if !strings.HasPrefix(to.path, "spec.") {
		message = "the input has no " + to.path
	}
	s.problems = append(s.problems, render.Problem{
		Pos: posOf(at.Pos()), Path: "input." + to.path, Rule: render.RuleUnknown, Level: s.level,
		Message: message + s.what, Hint: nearest.Hint(name, slices.Sorted(maps.Keys(known))),
	})
	return schema{}, false
}

// fieldOf gives a field, whether it has to be there or may be.
func fieldOf(v cue.Value, name string) cue.Value {
	if f := v.LookupPath(cue.MakePath(cue.Str(name))); f.Exists() {
		return f
	}
	return v.LookupPath(cue.MakePath(cue.Str(name).Optional()))
}

// alternatives takes disjunctions apart.
func alternatives(v cue.Value) []cue.Value {
	op, args := v.Expr()
	if op != cue.OrOp {
		return []cue.Value{v}
	}
	var all []cue.Value
	for _, a := range args {
		all = append(all, alternatives(a)...)
	}
	return all
}

// elems gives what lists and maps hold.
func elems(values []cue.Value) []cue.Value {
	var all []cue.Value
	for _, v := range values {
		for _, alt := range alternatives(v) {
			for _, sel := range []cue.Selector{cue.AnyIndex, cue.AnyString} {
				if e := alt.LookupPath(cue.MakePath(sel)); e.Exists() {
					all = append(all, e)
				}
			}
			// The value of a struct's fields, or of a tuple's, is one of several.
			if it, err := alt.Fields(cue.Optional(true)); err == nil && it.Next() {
				return nil
			}
		}
	}
	return all
}

// madeNames are the names of fields that stand in comprehensions.
func madeNames(inst *build.Instance) map[string]bool {
	names := map[string]bool{}
	for _, f := range inst.Files {
		ast.Walk(f, func(n ast.Node) bool {
			if c, ok := n.(*ast.Comprehension); ok {
				ast.Walk(c.Value, func(n ast.Node) bool {
					if f, ok := n.(*ast.Field); ok {
						if name, ok := labelName(f.Label); ok {
							names[name] = true
						}
					}
					return true
				}, nil)
			}
			return true
		}, nil)
	}
	return names
}

func exprText(n ast.Node) string {
	b, err := format.Node(n)
	if err != nil {
		return fmt.Sprint(n)
	}
	text := strings.Join(strings.Fields(string(b)), " ")
	if len(text) > 120 {
		return strconv.Quote(text[:120]) + "…"
	}
	return text
}
