package vet

import (
	"maps"

	"github.com/pequod-io/pequod/internal/problem"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
)

// inputWalker walks the syntax of a definition, #Render or #Policy, and finds out
// what it reads of its input. A misspelled field in a guard, as in `if
// input.spec.teir != _|_`, is not an error in CUE: the guard just never holds.
type inputWalker struct {
	// root is the name of the definition.
	root string
	// inputs are the schemas of the input: one for a module, and one per platform
	// for a policy.
	inputs []cue.Value
	// conditional has the names of fields in comprehensions. They are not in the
	// schema, so reading them is not reported.
	conditional map[string]bool
	// severity is the severity of reads of missing fields, and suffix is appended
	// to their message.
	severity problem.Severity
	suffix   string

	// problems and never, the guards that never hold, are the results.
	problems problem.List
	never    map[*ast.IfClause]bool

	// branches are the choices for which one `if` or `for` yields something or
	// nothing, and allowing are the choices for which a violation does not occur.
	branches, allowing []choice
	// keys are the wants of labels that depend on the input.
	keys []want
	// enclosing are the choices for which the enclosing clauses hold. It is set
	// while their bodies are walked.
	enclosing []choice
	// inViolations is true while the list of violations is walked.
	inViolations bool
	// quiet makes resolve return without walking subexpressions; see lookup.
	quiet bool
}

// newInputWalker returns a walker for the definition root of a package. Its
// severity is the zero Severity unless the caller sets it.
func newInputWalker(inst *build.Instance, root string, inputs []cue.Value) *inputWalker {
	return &inputWalker{root: root, inputs: inputs, conditional: conditionalNames(inst), never: map[*ast.IfClause]bool{}, enclosing: noWants}
}

// bindings are the names in scope of an expression: those of the input, of let
// clauses, of loops and of fields. A map is never changed after it was passed on:
// every scope works on a copy.
type bindings map[string]schema

// check walks the definition in all files of a package.
func (s *inputWalker) check(inst *build.Instance) {
	for _, f := range inst.Files {
		for _, d := range f.Decls {
			field, ok := d.(*ast.Field)
			if !ok {
				continue
			}
			if name, _ := labelName(field.Label); name != s.root {
				continue
			}
			s.expr(field.Value, bindings{"input": {values: s.inputs}}, true)
		}
	}
}

// expr walks an expression. top means that it is the definition itself, in which
// the field input is the schema. In a struct below, a field with that name hides
// the input.
func (s *inputWalker) expr(e ast.Node, in bindings, top bool) {
	if e == nil {
		return
	}
	ast.Walk(e, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.StructLit:
			s.decls(x.Elts, s.bindFields(x.Elts, in, top), top)
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

// bindFields returns the bindings in a struct: its fields and let clauses hide
// outer names.
func (s *inputWalker) bindFields(decls []ast.Decl, in bindings, top bool) bindings {
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

// bind binds a name to an expression: to the part of the input that the
// expression reads, or else to the expression itself together with the names that
// it sees. So `let p = input.spec.ports` makes p an alias of the input's ports.
func (s *inputWalker) bind(name string, e ast.Expr, in bindings) {
	if found, ok := s.lookup(e, in); ok {
		in[name] = found
		return
	}
	in[name] = schema{expr: e, in: maps.Clone(in)}
}

// decls walks the declarations of a struct. in has the names of the struct
// already; see bindFields.
func (s *inputWalker) decls(decls []ast.Decl, in bindings, top bool) {
	if s.inViolations {
		s.checkViolationPath(decls)
	}
	for _, d := range decls {
		switch x := d.(type) {
		case *ast.Field:
			if name, _ := labelName(x.Label); top && name == "input" {
				continue // the field is the schema
			}
			s.expr(x.Label, in, false)
			s.wantKey(x.Label, in)
			defer func(before bool) { s.inViolations = before }(s.inViolations)
			s.inViolations = s.inViolations || isViolations(x.Label)
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

// resolve returns the part of the input's schema that an expression reads, and
// reports fields that do not exist. It returns false for expressions that are not
// part of the input. Unless the walker is quiet, it walks the subexpressions of
// those, and the index of an index expression, since they may read the input too.
func (s *inputWalker) resolve(e ast.Expr, in bindings) (schema, bool) {
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
		return s.field(of, name, x.Sel)
	case *ast.IndexExpr:
		if !s.quiet {
			s.expr(x.Index, in, false)
		}
		of, ok := s.resolve(x.X, in)
		if !ok {
			return schema{}, false
		}
		if name, ok := stringOf(x.Index); ok {
			return s.field(of, name, x.Index)
		}
		return of.item()
	case *ast.StructLit, *ast.ListLit, *ast.BinaryExpr, *ast.UnaryExpr, *ast.CallExpr, *ast.Interpolation:
		if !s.quiet {
			s.expr(x, in, false)
		}
	}
	return schema{}, false
}
