package diagnose

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/schema/syntax"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// dependency is one dependency of a field of a module: a guard around it, as
// in `if tier == "gold" {sla!: string}`, or other fields that its value refers
// to, as in `max: >=min`.
type dependency struct {
	// pos is the position of a guarded field.
	pos token.Pos
	// guard is the text of the guards for messages. It is "" for a field that
	// only refers to others.
	guard string
	// refers are the names in the guards or the value.
	refers []string
	// inputs are the names that the value refers to, siblings or not, if the value
	// is computed from them, as in `total: replicas * 2`. Otherwise it is nil.
	inputs []string
	// value is the declared value if it is computed, and otherwise nil.
	value ast.Expr
	// siblings are the names of the fields next to it. They tell structs apart
	// that have a field of the same name.
	siblings []string
}

// dependencyIndex holds the dependencies of all fields of a module by the name
// of the field. It is nil until first used, because most diagnoses do not need
// it.
type dependencyIndex map[string][]dependency

// of returns the dependencies of a field in a struct with a schema. root is the
// module. Fields are found by name alone, so the result may include those of
// similar structs.
func (x *dependencyIndex) of(root cue.Value, name string, schema cue.Value) []dependency {
	if *x == nil {
		*x = dependencyIndex{}
		for _, f := range filesOf(root) {
			x.addFile(f)
		}
	}
	known := FieldNames(schema)
	return filter((*x)[name], func(dep dependency) bool {
		return len(dep.siblings) == 0 || slices.ContainsFunc(dep.siblings, func(n string) bool { return slices.Contains(known, n) })
	})
}

// filesOf returns the files of a module and of the packages that it imports.
func filesOf(root cue.Value) (files []*ast.File) {
	inst := root.BuildInstance()
	if inst == nil {
		return nil
	}
	for _, i := range append([]*build.Instance{inst}, inst.Dependencies()...) {
		files = append(files, i.Files...)
	}
	return files
}

// addFile records the dependencies of all fields in a file, of each struct on its
// own: a field depends on its guards, and on siblings that its value names.
func (x dependencyIndex) addFile(f *ast.File) {
	ast.Walk(f, func(n ast.Node) bool {
		s, ok := n.(*ast.StructLit)
		if !ok {
			return true
		}
		var siblings []string
		for _, decl := range s.Elts {
			if field, ok := decl.(*ast.Field); ok {
				siblings = append(siblings, cuesyntax.LabelName(field.Label))
			}
		}
		for _, decl := range s.Elts {
			switch decl := decl.(type) {
			case *ast.Comprehension:
				x.addGuarded(decl, nil, siblings)
			case *ast.Field:
				names := referredNames(decl.Value)
				dep := dependency{siblings: siblings, refers: filter(names, func(n string) bool { return slices.Contains(siblings, n) })}
				if isComputed(decl.Value) {
					dep.inputs, dep.value = names, decl.Value
				}
				if name := cuesyntax.LabelName(decl.Label); len(dep.refers) > 0 || len(dep.inputs) > 0 {
					x[name] = append(x[name], dep)
				}
			}
		}
		return true
	}, nil)
}

// addGuarded records the fields of a comprehension and of the comprehensions
// inside it. outer are the clauses around it.
func (x dependencyIndex) addGuarded(c *ast.Comprehension, outer []ast.Clause, siblings []string) {
	clauses := slices.Concat(outer, c.Clauses)
	s, ok := c.Value.(*ast.StructLit)
	if !ok {
		return
	}
	for _, decl := range s.Elts {
		switch decl := decl.(type) {
		case *ast.Comprehension:
			x.addGuarded(decl, clauses, siblings)
		case *ast.Field:
			name := cuesyntax.LabelName(decl.Label)
			if name == "" || slices.Contains(siblings, name) {
				continue // declared without the guard, too
			}
			dep := dependency{pos: decl.Label.Pos(), siblings: siblings, guard: guardText(clauses)}
			for _, clause := range clauses {
				dep.refers = append(dep.refers, referredNames(clause)...)
			}
			x[name] = append(x[name], dep)
		}
	}
}

// referredNames returns the names that syntax refers to, with duplicates. Of a.b
// it returns both: either may be the field of a mistake.
func referredNames(n ast.Node) (names []string) {
	ast.Walk(n, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.Field:
			names = append(names, referredNames(x.Value)...)
			return false // a label is not a reference
		case *ast.Ident:
			names = append(names, x.Name)
		case *ast.SelectorExpr:
			names = append(names, cuesyntax.LabelName(x.Sel))
		}
		return true
	}, nil)
	return names
}

// isWrittenAt reports whether the expression e is a part of the declaration of v.
func isWrittenAt(v cue.Value, e ast.Expr) bool {
	if n := v.Source(); n != nil {
		at, from, to := n.Pos(), e.Pos(), e.End()
		if field, ok := n.(*ast.Field); ok {
			at = field.Value.Pos()
		}
		if at.Filename() == from.Filename() && from.Offset() <= at.Offset() && at.Offset() <= to.Offset() {
			return true
		}
	}
	op, parts := v.Expr()
	return op != cue.NoOp && slices.ContainsFunc(parts, func(part cue.Value) bool { return isWrittenAt(part, e) })
}

// isComputed reports whether the value of a field follows from other fields, so
// that an instance need not give it. A rule such as `>=min` does not give a value.
func isComputed(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.ParenExpr:
		return isComputed(x.X)
	case *ast.Ident:
		// A type, such as string, refers to no node, and a definition is a schema.
		return x.Node != nil && !strings.HasPrefix(x.Name, "#")
	case *ast.SelectorExpr:
		return !strings.HasPrefix(cuesyntax.LabelName(x.Sel), "#")
	case *ast.IndexExpr, *ast.Interpolation, *ast.CallExpr:
		return true
	case *ast.UnaryExpr:
		return (x.Op == token.MUL || x.Op == token.ADD || x.Op == token.SUB) && isComputed(x.X)
	case *ast.BinaryExpr:
		switch x.Op {
		case token.AND:
			return isComputed(x.X) || isComputed(x.Y)
		case token.OR:
			return isComputedDefault(x.X) || isComputedDefault(x.Y)
		}
		return true
	}
	return false
}

// isComputedDefault reports whether one branch of a disjunction is a default that
// is computed.
func isComputedDefault(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.BinaryExpr:
		return x.Op == token.OR && isComputed(x)
	case *ast.UnaryExpr:
		return x.Op == token.MUL && isComputed(x)
	}
	return false
}

// guardText words guards for a message, such as `tier == "gold" and sla is
// given`. It leaves out that a field is given if another guard compares that
// field.
//
// For example, the guards
//
//	if tier == "gold" if sla != _|_
//
// are worded as: tier == "gold" and sla is given
func guardText(clauses []ast.Clause) string {
	var parts, given []string
	for _, clause := range clauses {
		c, ok := clause.(*ast.IfClause)
		if !ok {
			continue
		}
		if b, ok := c.Condition.(*ast.BinaryExpr); ok && syntax.IsBottom(b.Y) {
			switch b.Op {
			case token.NEQ:
				given = append(given, syntax.Text(b.X))
				continue
			case token.EQL:
				parts = append(parts, syntax.Text(b.X)+" is not given")
				continue
			}
		}
		parts = append(parts, syntax.Text(c.Condition))
	}
	for _, g := range given {
		if !slices.ContainsFunc(parts, func(s string) bool { return strings.HasPrefix(s, g) }) {
			parts = append(parts, g+" is given")
		}
	}
	return strings.Join(parts, " and ")
}

// dependOnMistake reports whether one of a field's dependencies refers to a
// field that a reported problem is about, or whose name is misspelt. The field
// can't be judged then: it may be right once the other mistake is corrected.
func dependOnMistake(deps []dependency, reported problem.List, typos map[string]string) bool {
	suspects := suspectsOf(reported, typos)
	return slices.ContainsFunc(deps, func(dep dependency) bool {
		return slices.ContainsFunc(dep.refers, func(n string) bool { return suspects[n] })
	})
}

// suspectsOf returns the names of the fields that reported problems are about, and
// of those that are misspelt.
func suspectsOf(reported problem.List, typos map[string]string) map[string]bool {
	suspects := map[string]bool{}
	for _, meant := range typos {
		suspects[meant] = true
	}
	for _, p := range reported {
		if parts := fieldpath.Split(p.Path); len(parts) > 0 {
			suspects[parts[len(parts)-1]] = true
		}
	}
	return suspects
}
