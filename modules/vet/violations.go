package vet

import (
	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
)

// checkViolationPath checks the path of a violation. A violation without a node has
// a path in the input, which must exist in the schema.
func (s *inputWalker) checkViolationPath(decls []ast.Decl) {
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
			of, ok = s.field(of, sel.Unquoted(), path)
		case cue.IndexLabel:
			of, ok = of.item()
		default:
			ok = false
		}
		if !ok {
			return
		}
	}
}
