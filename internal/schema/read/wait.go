package read

import (
	"slices"

	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/schema/syntax"
	"github.com/pequod-io/pequod/internal/schema/translate"
)

// push returns the context inside of a struct, with a frame for it. The caller
// must call Frame.Finish when all fields are read.
func (in context) push(literals []ast.Node, c *syntax.Guarded) (context, *translate.Frame) {
	f := &translate.Frame{Literals: literals, Guarded: c, Depth: len(in.segments), Allowed: map[string][]translate.Allowed{}, Unless: map[string]translate.Unless{}}
	in.frames = append(slices.Clone(in.frames), f)
	return in, f
}

// wait keeps p in the frame of the outermost struct that e refers to. It reports
// false if no rule of that struct can be about p, because there is a barrier
// between them. For max: int & >=min the frame is that of the struct with min,
// and the target [max].
func (in context) wait(p translate.Pending, e ast.Node) bool {
	if len(in.frames) == 0 {
		return false
	}
	outermost := len(in.frames) - 1
	ok := true
	scopes(e, map[ast.Node]bool{}, func(scope ast.Node) {
		i := in.frameOf(scope)
		ok = ok && i >= 0
		outermost = min(outermost, i)
	})
	if !ok {
		return false
	}
	f := in.frames[outermost]
	// The target leads from the frame to the expression.
	for _, s := range in.segments[f.Depth:] {
		name, ok := s.Name()
		if !ok {
			return false
		}
		p.Target = append(p.Target, name)
	}
	p.Frames, p.Segments, p.Blurred = slices.Clone(in.frames), slices.Clone(in.segments), in.lenient
	f.Pending = append(f.Pending, p)
	return true
}

// frameOf returns the index of the innermost frame that has scope among its
// literals, or -1. Identifiers refer to the innermost literal that declares them.
func (in context) frameOf(scope ast.Node) int {
	for i := len(in.frames) - 1; i >= 0; i-- {
		if slices.Contains(in.frames[i].Literals, scope) {
			return i
		}
	}
	return -1
}

// scopes visits the scopes of the fields of the instance that e names. Each
// declaration is visited once. A let leads to the scopes of its expression.
func scopes(e ast.Node, seen map[ast.Node]bool, visit func(ast.Node)) {
	ast.Walk(e, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.SelectorExpr:
			scopes(x.X, seen, visit)
			return false
		case *ast.Ident:
			if x.Node == nil || seen[x.Node] || !(syntax.References{FieldsOf: true, Bounds: true, Seen: map[ast.Node]bool{}}).Ident(x) {
				return true
			}
			seen[x.Node] = true
			if let, ok := x.Node.(*ast.LetClause); ok {
				scopes(let.Expr, seen, visit)
				return true
			}
			visit(x.Scope)
		}
		return true
	}, nil)
}
