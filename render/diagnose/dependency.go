package diagnose

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// dependency is one dependency of a field of a module: a guard around it, as in
// `if tier == "gold" {sla!: string}`, or other fields that its value refers to, as
// in `max: >=min`.
type dependency struct {
	// pos is the position of a guarded field.
	pos token.Pos
	// guard is the text of the guards for messages. It is "" for a field that only
	// refers to others.
	guard string
	// refers are the names in the guards or the value.
	refers []string
	// siblings are the names of the fields next to it. They tell structs apart
	// that have a field of the same name.
	siblings []string
}

// dependenciesOf returns the dependencies of a field in a struct with a schema. The
// result is found by names alone, so it may include fields of similar structs.
func (d *diagnosis) dependenciesOf(name string, schema cue.Value) []dependency {
	if d.dependencies == nil {
		d.dependencies = map[string][]dependency{}
		if inst := d.root.BuildInstance(); inst != nil {
			for _, i := range append([]*build.Instance{inst}, inst.Dependencies()...) {
				for _, f := range i.Files {
					d.addDependencies(f)
				}
			}
		}
	}
	known := fieldNames(schema)
	return filter(d.dependencies[name], func(dep dependency) bool {
		return len(dep.siblings) == 0 || slices.ContainsFunc(dep.siblings, func(n string) bool { return slices.Contains(known, n) })
	})
}

// addDependencies records the dependencies of all fields in a file.
func (d *diagnosis) addDependencies(f *ast.File) {
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
			switch x := decl.(type) {
			case *ast.Comprehension:
				d.addGuarded(x, nil, siblings)
			case *ast.Field:
				refers := filter(referredNames(x.Value), func(n string) bool { return slices.Contains(siblings, n) })
				if name := cuesyntax.LabelName(x.Label); len(refers) > 0 {
					d.dependencies[name] = append(d.dependencies[name], dependency{refers: refers, siblings: siblings})
				}
			}
		}
		return true
	}, nil)
}

// addGuarded records the fields of a comprehension and of the comprehensions
// inside it. outer are the clauses around it.
func (d *diagnosis) addGuarded(c *ast.Comprehension, outer []ast.Clause, siblings []string) {
	clauses := slices.Concat(outer, c.Clauses)
	s, ok := c.Value.(*ast.StructLit)
	if !ok {
		return
	}
	for _, decl := range s.Elts {
		switch x := decl.(type) {
		case *ast.Comprehension:
			d.addGuarded(x, clauses, siblings)
		case *ast.Field:
			name := cuesyntax.LabelName(x.Label)
			if name == "" || slices.Contains(siblings, name) {
				continue // declared without the guard, too
			}
			dep := dependency{pos: x.Label.Pos(), siblings: siblings, guard: guardText(clauses)}
			for _, clause := range clauses {
				dep.refers = append(dep.refers, referredNames(clause)...)
			}
			d.dependencies[name] = append(d.dependencies[name], dep)
		}
	}
}

// referredNames returns the names that syntax refers to.
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

// guardText words guards for a message, such as `tier == "gold" and sla is given`.
// It leaves out that a field is given if another guard compares that field.
func guardText(clauses []ast.Clause) string {
	var parts, given []string
	for _, clause := range clauses {
		c, ok := clause.(*ast.IfClause)
		if !ok {
			continue
		}
		if b, ok := c.Condition.(*ast.BinaryExpr); ok && isBottom(b.Y) {
			switch b.Op {
			case token.NEQ:
				given = append(given, exprText(b.X))
				continue
			case token.EQL:
				parts = append(parts, exprText(b.X)+" is not given")
				continue
			}
		}
		parts = append(parts, exprText(c.Condition))
	}
	for _, g := range given {
		if !slices.ContainsFunc(parts, func(s string) bool { return strings.HasPrefix(s, g) }) {
			parts = append(parts, g+" is given")
		}
	}
	return strings.Join(parts, " and ")
}

func isBottom(e ast.Expr) bool {
	_, ok := e.(*ast.BottomLit)
	return ok
}

// dependsOnMistake reports whether a field depends on a field that a reported
// problem is about, or whose name is misspelt. Such a field can't be judged.
func (d *diagnosis) dependsOnMistake(deps []dependency, typos map[string]string) bool {
	suspects := map[string]bool{}
	for _, meant := range typos {
		suspects[meant] = true
	}
	for _, p := range d.problems {
		if parts := fieldpath.Split(p.Path); len(parts) > 0 {
			suspects[parts[len(parts)-1]] = true
		}
	}
	return slices.ContainsFunc(deps, func(dep dependency) bool {
		return slices.ContainsFunc(dep.refers, func(n string) bool { return suspects[n] })
	})
}
