package vet

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pequod-io/pequod/internal/problem"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/token"
)

// unreachableNode is a node below a guard that never holds.
type unreachableNode struct {
	id  string
	pos problem.Position
	// guard is the position of the guard.
	guard problem.Position
}

// idWalker collects the ids of nodes that are written in the module, without
// evaluating it. Evaluation alone is not enough: it shows only the nodes of the
// samples, not those below guards that never hold. Conversely, addRenderedIDs
// adds the ids that the syntax does not show.
type idWalker struct {
	// never has the guards that never hold.
	never map[*ast.IfClause]bool
	ids   map[string]bool
	// reachable has the ids of nodes that are not only below such guards. ids has
	// all ids.
	reachable   map[string]bool
	unreachable []unreachableNode
	// dynamic means that the module may render nodes with other ids.
	dynamic bool
	// deadGuard is the position of the enclosing guard that never holds, if any.
	deadGuard problem.Position
}

// nodeIDs collects the node ids of a package. never has the guards that never
// hold, as found by the inputWalker.
func nodeIDs(inst *build.Instance, never map[*ast.IfClause]bool) *idWalker {
	w := &idWalker{never: never, ids: map[string]bool{}, reachable: map[string]bool{}}
	for _, f := range inst.Files {
		w.decls(f.Decls, nil)
	}
	return w
}

// add records an id.
func (w *idWalker) add(id string, at token.Pos) {
	w.ids[id] = true
	if w.deadGuard.File == "" {
		w.reachable[id] = true
		return
	}
	w.unreachable = append(w.unreachable, unreachableNode{id, posOf(at), w.deadGuard})
}

// comprehension calls visit with the struct of a comprehension, and sets deadGuard
// during the call if a guard never holds.
func (w *idWalker) comprehension(c *ast.Comprehension, visit func(*ast.StructLit)) {
	defer func(before problem.Position) { w.deadGuard = before }(w.deadGuard)
	for _, clause := range c.Clauses {
		if cond, ok := clause.(*ast.IfClause); ok && w.never[cond] && w.deadGuard.File == "" {
			w.deadGuard = posOf(cond.Condition.Pos())
		}
	}
	if s, ok := c.Value.(*ast.StructLit); ok {
		visit(s)
	}
}

// nodesPath is the path of the nodes in a module.
var nodesPath = []string{"#Render", "output", "nodes"}

// leadsToNodes reports whether a path is nodesPath or a prefix of it.
func leadsToNodes(path []string) bool {
	return len(path) <= len(nodesPath) && slices.Equal(path, nodesPath[:len(path)])
}

// decls visits the declarations of the struct at path. At nodesPath, every label
// is an id, and a computed label makes the ids dynamic. Above it, only the fields
// that lead to the nodes are followed.
func (w *idWalker) decls(decls []ast.Decl, path []string) {
	at := slices.Equal(path, nodesPath)
	for _, d := range decls {
		switch x := d.(type) {
		case *ast.Field:
			name, ok := labelName(x.Label)
			switch {
			case at && ok:
				w.add(name, x.Label.Pos())
			case at:
				w.dynamic = true
			case ok && leadsToNodes(append(slices.Clone(path), name)):
				w.expr(x.Value, append(slices.Clone(path), name))
			}
		case *ast.Comprehension:
			w.comprehension(x, func(s *ast.StructLit) { w.decls(s.Elts, path) })
		case *ast.EmbedDecl:
			w.expr(x.Expr, path)
		}
	}
}

// expr visits the value at path. A value that is not understood may contain any
// node.
func (w *idWalker) expr(e ast.Expr, path []string) {
	switch x := e.(type) {
	case *ast.StructLit:
		w.decls(x.Elts, path)
	case *ast.ParenExpr:
		w.expr(x.X, path)
	case *ast.BinaryExpr:
		if x.Op == token.AND {
			w.expr(x.X, path)
			w.expr(x.Y, path)
			return
		}
		w.dynamic = true
	case *ast.ListLit:
		w.list(x, path)
	case *ast.Ident, *ast.SelectorExpr:
		// A definition such as #Graph contributes no nodes; any other value may.
		if name := exprText(x); !strings.HasPrefix(name, "#") && name != "_" {
			w.dynamic = true
		}
	default:
		w.dynamic = true
	}
}

// list visits the nodes of a list.
func (w *idWalker) list(l *ast.ListLit, path []string) {
	for _, e := range l.Elts {
		switch x := e.(type) {
		case *ast.Comprehension:
			w.comprehension(x, func(s *ast.StructLit) { w.listNode(s, path) })
		case *ast.StructLit:
			w.listNode(x, path)
		default:
			w.dynamic = true
		}
	}
}

// listNode records the id of a node in a list. Without an id that is a string
// literal the ids are dynamic.
func (w *idWalker) listNode(s *ast.StructLit, path []string) {
	for _, d := range s.Elts {
		f, ok := d.(*ast.Field)
		if !ok || !slices.Equal(path, nodesPath) {
			continue
		}
		if name, _ := labelName(f.Label); name == "id" {
			if id, ok := stringOf(f.Value); ok {
				w.add(id, f.Value.Pos())
				return
			}
		}
	}
	w.dynamic = true
}

// addRenderedIDs adds the node ids of an evaluated graph. It finds those that
// idWalker does not, such as nodes of a definition that #Render embeds.
func (c *checker) addRenderedIDs(v cue.Value) {
	nodes := get(v, "output", "nodes")
	for name := range fields(nodes) {
		c.addRenderedID(name)
	}
	for _, n := range elements(nodes) {
		if id, ok := text(get(n, "id")); ok {
			c.addRenderedID(id)
		}
	}
}

// addRenderedID adds one id.
func (c *checker) addRenderedID(id string) {
	if !c.ids[id] {
		c.ids[id], c.reachable[id] = true, true
	}
}

// isUnreachable reports whether a node is only below guards that never hold.
func (c *checker) isUnreachable(id string) bool { return c.ids[id] && !c.reachable[id] && !c.dynamic }

// reportUnreachable reports the nodes that are only below guards that never hold.
func (c *checker) reportUnreachable() {
	for _, d := range c.unreachable {
		if c.isUnreachable(d.id) {
			c.report(problem.Problem{
				Position: d.pos, Path: "nodes." + d.id, Related: d.guard,
				Message: "is never made: its condition never holds",
			})
		}
	}
}

// isAboutUnreachable reports whether a message is about a missing node that is
// unreachable. reportUnreachable reports that node already.
func (c *checker) isAboutUnreachable(message string) bool {
	return slices.ContainsFunc(c.unreachable, func(d unreachableNode) bool {
		return c.isUnreachable(d.id) && message == "no node "+strconv.Quote(d.id)
	})
}
