package render

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// condition is what a field in a module depends on: the condition that has to
// hold for it to be known, as in `if tier == "gold" {sla!: string}`, or, without
// a text, the fields that its rule names, as in `max: >=min`.
type condition struct {
	pos  token.Pos
	text string
	// names are those that the condition looks at, beside those of the fields
	// next to it.
	names, beside []string
}

// dependencies finds what a field in a struct depends on, by the names of the
// struct's other fields.
func (d *diagnosis) dependencies(name string, schema cue.Value) []condition {
	if d.conditions == nil {
		d.conditions = map[string][]condition{}
		if inst := d.built.root.BuildInstance(); inst != nil {
			for _, i := range append([]*build.Instance{inst}, inst.Dependencies()...) {
				for _, f := range i.Files {
					d.conditionsIn(f)
				}
			}
		}
	}
	known := fieldNames(schema)
	return filter(d.conditions[name], func(c condition) bool {
		return len(c.beside) == 0 || slices.ContainsFunc(c.beside, func(n string) bool { return slices.Contains(known, n) })
	})
}

// conditionsIn notes what fields depend on, anywhere in a file.
func (d *diagnosis) conditionsIn(f *ast.File) {
	ast.Walk(f, func(n ast.Node) bool {
		s, ok := n.(*ast.StructLit)
		if !ok {
			return true
		}
		var beside []string
		for _, decl := range s.Elts {
			if field, ok := decl.(*ast.Field); ok {
				beside = append(beside, cuesyntax.LabelName(field.Label))
			}
		}
		for _, decl := range s.Elts {
			switch x := decl.(type) {
			case *ast.Comprehension:
				d.made(x, nil, beside)
			case *ast.Field:
				names := filter(namesIn(x.Value), func(n string) bool { return slices.Contains(beside, n) })
				if name := cuesyntax.LabelName(x.Label); len(names) > 0 {
					d.conditions[name] = append(d.conditions[name], condition{names: names, beside: beside})
				}
			}
		}
		return true
	}, nil)
}

func (d *diagnosis) made(c *ast.Comprehension, clauses []ast.Clause, beside []string) {
	clauses = slices.Concat(clauses, c.Clauses)
	s, ok := c.Value.(*ast.StructLit)
	if !ok {
		return
	}
	for _, decl := range s.Elts {
		switch x := decl.(type) {
		case *ast.Comprehension:
			d.made(x, clauses, beside)
		case *ast.Field:
			name := cuesyntax.LabelName(x.Label)
			if name == "" || slices.Contains(beside, name) {
				continue
			}
			made := condition{pos: x.Label.Pos(), beside: beside, text: clausesText(clauses)}
			for _, clause := range clauses {
				made.names = append(made.names, namesIn(clause)...)
			}
			d.conditions[name] = append(d.conditions[name], made)
		}
	}
}

// namesIn lists the names that syntax refers to.
func namesIn(n ast.Node) (names []string) {
	ast.Walk(n, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.Field:
			names = append(names, namesIn(x.Value)...)
			return false // its label is no reference
		case *ast.Ident:
			names = append(names, x.Name)
		case *ast.SelectorExpr:
			names = append(names, cuesyntax.LabelName(x.Sel))
		}
		return true
	}, nil)
	return names
}

// clausesText writes conditions for people: that a field is there is not said
// where another condition says more of it.
func clausesText(clauses []ast.Clause) string {
	var said, given []string
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
				said = append(said, exprText(b.X)+" is not given")
				continue
			}
		}
		said = append(said, exprText(c.Condition))
	}
	for _, g := range given {
		if !slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, g) }) {
			said = append(said, g+" is given")
		}
	}
	return strings.Join(said, " and ")
}

func isBottom(e ast.Expr) bool {
	_, ok := e.(*ast.BottomLit)
	return ok
}

func exprText(e ast.Expr) string {
	b, err := format.Node(e)
	if err != nil {
		return "a condition holds"
	}
	return strings.Join(strings.Fields(string(b)), " ")
}

// blames says whether something that a field depends on is wrong itself, or
// misspelt: then nothing can be said of the field.
func (d *diagnosis) blames(on []condition, typos map[string]string) bool {
	suspects := map[string]bool{}
	for _, meant := range typos {
		suspects[meant] = true
	}
	for _, q := range d.problems {
		if parts := fieldpath.Split(q.Path); len(parts) > 0 {
			suspects[parts[len(parts)-1]] = true
		}
	}
	return slices.ContainsFunc(on, func(c condition) bool {
		return slices.ContainsFunc(c.names, func(n string) bool { return suspects[n] })
	})
}
