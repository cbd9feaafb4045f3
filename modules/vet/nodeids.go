package vet

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/schema/syntax"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// unreachableNode is a node below a guard that never holds.
type unreachableNode struct {
	id  string
	pos problem.Position
	// guard is the position of the guard.
	guard problem.Position
}

// nodeIDs has the ids of nodes that are written in the module, without evaluating
// it. Evaluation alone is not enough: it shows only the nodes of the samples, not
// those below guards that never hold. Conversely, addRendered adds the ids that the
// syntax does not show.
type nodeIDs struct {
	// never has the guards that never hold.
	never map[*ast.IfClause]bool
	// reachable has all ids, and whether they are not only below such guards.
	reachable   map[string]bool
	unreachable []unreachableNode
	// dynamic means that the module may render nodes with other ids.
	dynamic bool
}

// nodePlace is a place in a module.
type nodePlace struct {
	// path are the labels from the top of the file.
	path []string
	// inList means that structs are nodes.
	inList bool
	// deadGuard is the position of the enclosing guard that never holds, if any.
	deadGuard problem.Position
}

// nodeIDsOf collects the node ids of a package. never has the guards that never
// hold, as found by the inputWalker.
func nodeIDsOf(inst *build.Instance, never map[*ast.IfClause]bool) *nodeIDs {
	ids := &nodeIDs{never: never, reachable: map[string]bool{}}
	for _, f := range inst.Files {
		syntax.Walk(ast.Node(f), nodePlace{}, ids.visit)
	}
	return ids
}

// add records an id.
func (ids *nodeIDs) add(id string, n ast.Node, at nodePlace) {
	dead := at.deadGuard.File != ""
	ids.reachable[id] = ids.reachable[id] || !dead
	if dead {
		ids.unreachable = append(ids.unreachable, unreachableNode{id, cuesyntax.Position(n.Pos()), at.deadGuard})
	}
}

// nodesPath is the path of the nodes in a module.
var nodesPath = []string{"#Render", "output", "nodes"}

// visit visits what is at or above nodesPath. At nodesPath, every label is an id, and
// a computed label makes the ids dynamic. A value that is not understood may contain
// any node.
func (ids *nodeIDs) visit(n ast.Node, at nodePlace) (nodePlace, bool) {
	switch x := n.(type) {
	case *ast.StructLit:
		if at.inList {
			ids.addItem(x, at)
		}
		return at, !at.inList
	case *ast.ListLit:
		at.inList = true
		return at, true
	case *ast.File, *ast.ParenExpr, *ast.EmbedDecl:
		return at, true
	case *ast.Field:
		name, static := syntax.StaticName(x.Label)
		below := append(slices.Clone(at.path), name)
		switch {
		case len(at.path) == len(nodesPath) && static:
			ids.add(name, x.Label, at)
		case len(at.path) == len(nodesPath):
			ids.dynamic = true
		case static && slices.Equal(below, nodesPath[:len(below)]):
			at.path = below
			syntax.Walk(ast.Node(x.Value), at, ids.visit)
		}
	case *ast.Comprehension:
		for _, clause := range x.Clauses {
			if guard, ok := clause.(*ast.IfClause); ok && ids.never[guard] && at.deadGuard.File == "" {
				at.deadGuard = cuesyntax.Position(guard.Condition.Pos())
			}
		}
		syntax.Walk(ast.Node(x.Value), at, ids.visit)
	case *ast.BinaryExpr:
		ids.dynamic = ids.dynamic || x.Op != token.AND
		return at, x.Op == token.AND
	case *ast.Ident, *ast.SelectorExpr:
		// A definition such as #Graph contributes no nodes; any other value may.
		if name := syntax.Text(x); at.inList || !strings.HasPrefix(name, "#") && name != "_" {
			ids.dynamic = true
		}
	case *ast.Ellipsis:
	case ast.Expr:
		ids.dynamic = true
	}
	return at, false
}

// addItem records the id of a node in a list. Without an id that is a string
// literal the ids are dynamic.
func (ids *nodeIDs) addItem(s *ast.StructLit, at nodePlace) {
	if f := cuesyntax.Field(s, "id"); f != nil && slices.Equal(at.path, nodesPath) {
		if id, ok := cuesyntax.Text(f.Value); ok {
			ids.add(id, f.Value, at)
			return
		}
	}
	ids.dynamic = true
}

// addRendered adds the node ids of an evaluated graph. It finds those that the syntax
// does not show, such as nodes of a definition that #Render embeds.
func (ids *nodeIDs) addRendered(v cue.Value) {
	nodes := get(v, "output", "nodes")
	var found []string
	for name := range fields(nodes) {
		found = append(found, name)
	}
	for _, n := range elements(nodes) {
		if id, ok := text(get(n, "id")); ok {
			found = append(found, id)
		}
	}
	for _, id := range found {
		if !ids.has(id) {
			ids.reachable[id] = true
		}
	}
}

// has reports whether the module has a node.
func (ids *nodeIDs) has(id string) bool { _, ok := ids.reachable[id]; return ok }

// sorted returns the known ids.
func (ids *nodeIDs) sorted() []string { return slices.Sorted(maps.Keys(ids.reachable)) }

// isUnreachable reports whether a node is only below guards that never hold.
func (ids *nodeIDs) isUnreachable(id string) bool {
	return ids.has(id) && !ids.reachable[id] && !ids.dynamic
}

// problems returns the nodes that are only below guards that never hold.
func (ids *nodeIDs) problems() (found problem.List) {
	for _, d := range ids.unreachable {
		if ids.isUnreachable(d.id) {
			found = append(found, problem.Problem{
				Position: d.pos, Path: "nodes." + d.id, Related: d.guard,
				Message: "is never made: its condition never holds",
			})
		}
	}
	return found
}

// explain reports whether a message is about a missing node that is unreachable. It is
// reported as such already.
func (ids *nodeIDs) explain(message string) bool {
	return slices.ContainsFunc(ids.unreachable, func(d unreachableNode) bool {
		return ids.isUnreachable(d.id) && message == "no node "+strconv.Quote(d.id)
	})
}
