package crd

import (
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/schema/syntax"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/render"
)

// elsewhere are the definitions at the top of a module that no CRD is made from.
var elsewhere = []string{"#Render", "#Platform", "#Policy"}

// misplaced returns the @k8s attributes of a module that no field of a CRD can
// have: behind a definition or a hidden field, in a struct other than #Input or a
// file by themselves, or in a definition that isn't a schema. CUE doesn't attach these to
// any field, so they would have no effect.
func misplaced(m *render.Module) problem.List {
	var all problem.List
	report := func(attrs []*ast.Attribute, path, message string) {
		for _, a := range attrs {
			name, _ := a.Split()
			if strings.EqualFold(name, syntax.AttributeName) {
				all = append(all, problem.Problem{
					Position: cuesyntax.Position(a.Pos()), Path: path, Rule: problem.RuleModule, Message: a.Text + " " + message,
				})
			}
		}
	}
	inputs := map[ast.Expr]bool{} // the structs of #Input, which rules may be in
	for _, file := range m.Files() {
		syntax.Walk(file, "", func(n ast.Node, at string) (string, bool) {
			switch x := n.(type) {
			case *ast.Field:
				label, _, _ := ast.LabelName(x.Label)
				path := strings.TrimPrefix(at+"."+label, ".")
				top, _, _ := strings.Cut(path, ".")
				if path == "#Input" || top == "#Versions" && label == "#Input" {
					inputs[syntax.Operands(x.Value, token.AND)[0]] = true
				}
				switch {
				case strings.HasPrefix(label, "#") || strings.HasPrefix(label, "_"):
					report(x.Attrs, path, "belongs behind a field of #Input, not behind a definition")
				case slices.Contains(elsewhere, top):
					report(x.Attrs, path, "belongs behind a field of #Input: no CRD is made from "+top)
				default:
					report(slices.DeleteFunc(slices.Clone(x.Attrs), func(a *ast.Attribute) bool {
						name, _ := a.Split()
						return name == syntax.AttributeName
					}), path, "is unknown: it is written @"+syntax.AttributeName)
				}
				return path, true
			case *ast.Attribute:
				// An attribute behind a field is a part of the field.
				return at, false
			case *ast.File:
				for _, d := range x.Decls {
					if a, ok := d.(*ast.Attribute); ok {
						report([]*ast.Attribute{a}, at, "belongs behind a field of #Input")
					}
				}
			case *ast.StructLit:
				for _, d := range x.Elts {
					if a, ok := d.(*ast.Attribute); ok && !(inputs[x] && strings.Contains(a.Text, "rule=")) {
						report([]*ast.Attribute{a}, at, "belongs behind a field of #Input, not in a struct")
					}
				}
			}
			return at, true
		})
	}
	return all.Sorted()
}
