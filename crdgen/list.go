package crdgen

import (
	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
)

// list is what the list v admits; lit is its source, if it is a literal.
func (r *reader) list(v cue.Value, lit *ast.ListLit, path string) shape {
	if lit != nil {
		for _, e := range lit.Elts {
			if c, ok := e.(*ast.Comprehension); ok && dependsOnInput(c) {
				r.note(c.Pos(), path, "what a comprehension over other fields puts into the list")
				return ofKinds(cue.ListKind)
			}
		}
	}
	leave, ok := r.enter(path, key(lit))
	if !ok {
		return anything()
	}
	defer leave()

	l := &list{closed: true}
	items, err := v.List()
	if err != nil {
		r.note(v.Pos(), path, "%s", sourceText(v))
		return ofKinds(cue.ListKind)
	}
	for items.Next() {
		r.in(step{barrier: true}, func() { l.prefix = append(l.prefix, r.shape(items.Value(), path+"[]", nil)) })
	}
	if rest := v.LookupPath(cue.MakePath(cue.AnyIndex)); rest.Exists() || isOpen(lit) {
		l.closed = false
		each := step{each: eachItem}
		if len(l.prefix) > 0 {
			each = step{barrier: true}
		}
		r.in(each, func() { l.rest = r.shape(rest, path+"[]", nil) })
		if len(l.rest) == 0 {
			l.closed = true // [...T] where T admits nothing has no items
		}
	}
	n := int64(len(l.prefix))
	if n > 0 {
		l.min = &n
	}
	if l.closed {
		l.max = &n
	}
	return shape{{kind: cue.ListKind, list: l}}
}

// isOpen says whether lit ends in an ellipsis, also where its type is an error.
func isOpen(lit *ast.ListLit) bool {
	if lit == nil || len(lit.Elts) == 0 {
		return false
	}
	_, ok := lit.Elts[len(lit.Elts)-1].(*ast.Ellipsis)
	return ok
}
