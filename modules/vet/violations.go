package vet

import (
	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
)

// checkViolationPath checks the path of a violation. A violation without a node
// has a path in the input, which must exist in the schema. For example, the walk
// of
//
//	output: violations: [{message: "too few", path: "spec.replica"}]
//
// reports that #Input has no replica. A path that is not a literal, or that has a
// selector other than a field or an index, is not checked.
func (s *inputWalker) checkViolationPath(decls []ast.Decl) {
	var path *ast.BasicLit
	for _, d := range decls {
		f, ok := d.(*ast.Field)
		if !ok {
			continue
		}
		switch name, _ := labelName(f.Label); name {
		case "node":
			// The path of a violation with a node is a path in that node.
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
