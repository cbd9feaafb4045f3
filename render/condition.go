package render

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/token"
)

// condition is what has to hold for a field to be known: `if tier == "gold" {sla!: string}`.
type condition struct {
	pos  token.Pos
	text string
	// names are those that the condition looks at, beside those of the fields
	// next to it.
	names, beside []string
}

// condition finds the condition that makes a field in a struct, by the names of
// the struct's other fields.
func (d *diagnosis) condition(name string, schema cue.Value) (condition, bool) {
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
	for _, c := range d.conditions[name] {
		if len(c.beside) == 0 || slices.ContainsFunc(c.beside, func(n string) bool { return slices.Contains(known, n) }) {
			return c, true
		}
	}
	return condition{}, false
}

// conditionsIn notes the fields that comprehensions make anywhere in a file.
func (d *diagnosis) conditionsIn(f *ast.File) {
	ast.Walk(f, func(n ast.Node) bool {
		s, ok := n.(*ast.StructLit)
		if !ok {
			return true
		}
		var beside []string
		for _, decl := range s.Elts {
			if field, ok := decl.(*ast.Field); ok {
				beside = append(beside, labelName(field.Label))
			}
		}
		for _, decl := range s.Elts {
			if c, ok := decl.(*ast.Comprehension); ok {
				d.made(c, nil, beside)
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
			name := labelName(x.Label)
			if name == "" || slices.Contains(beside, name) {
				continue
			}
			made := condition{pos: x.Label.Pos(), beside: beside, text: clausesText(clauses)}
			for _, clause := range clauses {
				ast.Walk(clause, func(n ast.Node) bool {
					switch x := n.(type) {
					case *ast.Ident:
						made.names = append(made.names, x.Name)
					case *ast.SelectorExpr:
						made.names = append(made.names, labelName(x.Sel))
					}
					return true
				}, nil)
			}
			d.conditions[name] = append(d.conditions[name], made)
		}
	}
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

// blames says whether something that a condition looks at is wrong itself.
func (d *diagnosis) blames(c condition) bool {
	return slices.ContainsFunc(d.problems, func(q Problem) bool {
		parts := splitPath(q.Path)
		return len(parts) > 0 && slices.Contains(c.names, parts[len(parts)-1])
	})
}
