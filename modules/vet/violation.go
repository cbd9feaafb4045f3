package vet

import (
	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
)

// violation looks at the path that a violation names: where it isn't of a node,
// it is of the input.
func (s *selectors) violation(decls []ast.Decl) {
	var path *ast.BasicLit
	for _, d := range decls {
		f, ok := d.(*ast.Field)
		if !ok {
			continue
		}
		switch name, _ := labelName(f.Label); name {
		case "node":
			return
		case "path":
			path, _ = f.Value.(*ast.BasicLit)
		}
	}
	if path == nil {
		return
	}
	text, ok := stringOf(path)
	if !ok {
		return
	}
	of, ok := schema{values: s.inputs}, true
	for _, sel := range cue.ParsePath(text).Selectors() {
		switch sel.LabelType() {
		case cue.StringLabel:
			of, ok = s.step(of, sel.Unquoted(), path)
		case cue.IndexLabel:
			of, ok = of.element()
		default:
			ok = false
		}
		if !ok {
			return
		}
	}
}
