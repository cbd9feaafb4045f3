package vet

import (
	"maps"

	"github.com/pequod-io/pequod/internal/problem"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
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
	level problem.Severity
	what  string

	problems problem.List
	never    map[*ast.IfClause]bool

	// tried are the wants of inputs for which one `if` or `for` makes something,
	// or doesn't; keys those of labels that depend on the input; and spared
	// those of inputs that a violation doesn't refuse.
	tried, spared []choice
	keys          []want
	// outer is what makes hold what stands around, refusing whether that is
	// the list of violations.
	outer    []choice
	refusing bool
	// quiet selectors resolve, and don't walk.
	quiet bool
}

func newSelectors(inst *build.Instance, root string, inputs []cue.Value) *selectors {
	return &selectors{root: root, inputs: inputs, made: madeNames(inst), never: map[*ast.IfClause]bool{}, outer: anyhow}
}

// scope says what names stand for: values of the input's schema.
type scope map[string]schema

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
			s.expr(field.Value, scope{"input": {values: s.inputs}}, true)
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
	in[name] = schema{expr: e, in: maps.Clone(in)}
}

func (s *selectors) decls(decls []ast.Decl, in scope, top bool) {
	if s.refusing {
		s.violation(decls)
	}
	for _, d := range decls {
		switch x := d.(type) {
		case *ast.Field:
			if name, _ := labelName(x.Label); top && name == "input" {
				continue // the schema itself
			}
			s.expr(x.Label, in, false)
			s.key(x.Label, in)
			defer func(before bool) { s.refusing = before }(s.refusing)
			s.refusing = s.refusing || isViolations(x.Label)
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

// resolve gives what an expression of selectors reads of the input, and tells
// what isn't there.
func (s *selectors) resolve(e ast.Expr, in scope) (schema, bool) {
	switch x := e.(type) {
	case *ast.ParenExpr:
		return s.resolve(x.X, in)
	case *ast.Ident:
		found, ok := in[x.Name]
		return found, ok && found.expr == nil
	case *ast.SelectorExpr:
		of, ok := s.resolve(x.X, in)
		name, named := labelName(x.Sel)
		if !ok || !named {
			return schema{}, false
		}
		return s.step(of, name, x.Sel)
	case *ast.IndexExpr:
		if !s.quiet {
			s.expr(x.Index, in, false)
		}
		of, ok := s.resolve(x.X, in)
		if !ok {
			return schema{}, false
		}
		if name, ok := stringOf(x.Index); ok {
			return s.step(of, name, x.Index)
		}
		return of.element()
	case *ast.StructLit, *ast.ListLit, *ast.BinaryExpr, *ast.UnaryExpr, *ast.CallExpr, *ast.Interpolation:
		if !s.quiet {
			s.expr(x, in, false)
		}
	}
	return schema{}, false
}
