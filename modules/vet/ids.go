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

// deadNode is a node below a condition that never holds.
type deadNode struct {
	id  string
	pos problem.Position
	// because is where the condition stands.
	because problem.Position
}

// idWalker finds the ids of nodes that a module writes out.
type idWalker struct {
	// never are the conditions that never hold.
	never map[*ast.IfClause]bool
	ids   map[string]bool
	// alive are the ids that are made somewhere else than below such conditions.
	alive map[string]bool
	dead  []deadNode
	// dynamic says that the module makes others too.
	dynamic bool
	// below is the condition that never holds at hand.
	below problem.Position
}

func nodeIDs(inst *build.Instance, never map[*ast.IfClause]bool) *idWalker {
	w := &idWalker{never: never, ids: map[string]bool{}, alive: map[string]bool{}}
	for _, f := range inst.Files {
		w.decls(f.Decls, nil)
	}
	return w
}

func (w *idWalker) add(id string, at token.Pos) {
	w.ids[id] = true
	if w.below.File == "" {
		w.alive[id] = true
		return
	}
	w.dead = append(w.dead, deadNode{id, posOf(at), w.below})
}

// comprehension gives the struct that a comprehension makes to a function.
func (w *idWalker) comprehension(c *ast.Comprehension, visit func(*ast.StructLit)) {
	defer func(before problem.Position) { w.below = before }(w.below)
	for _, clause := range c.Clauses {
		if cond, ok := clause.(*ast.IfClause); ok && w.never[cond] && w.below.File == "" {
			w.below = posOf(cond.Condition.Pos())
		}
	}
	if s, ok := c.Value.(*ast.StructLit); ok {
		visit(s)
	}
}

var nodesPath = []string{"#Render", "output", "nodes"}

// onWay says whether a path may still lead to nodes.
func onWay(path []string) bool {
	return len(path) <= len(nodesPath) && slices.Equal(path, nodesPath[:len(path)])
}

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
			case ok && onWay(append(slices.Clone(path), name)):
				w.expr(x.Value, append(slices.Clone(path), name))
			}
		case *ast.Comprehension:
			w.comprehension(x, func(s *ast.StructLit) { w.decls(s.Elts, path) })
		case *ast.EmbedDecl:
			w.expr(x.Expr, path)
		}
	}
}

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
		// A definition such as #Graph holds no nodes; anything else may.
		if name := exprText(x); !strings.HasPrefix(name, "#") && name != "_" {
			w.dynamic = true
		}
	default:
		w.dynamic = true
	}
}

func (w *idWalker) list(l *ast.ListLit, path []string) {
	for _, e := range l.Elts {
		switch x := e.(type) {
		case *ast.Comprehension:
			w.comprehension(x, func(s *ast.StructLit) { w.listed(s, path) })
		case *ast.StructLit:
			w.listed(x, path)
		default:
			w.dynamic = true
		}
	}
}

// listed adds a node of a list.
func (w *idWalker) listed(s *ast.StructLit, path []string) {
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

// meet adds the ids of nodes that aren't written out where they are looked for,
// such as those of a definition that #Render is made of.
func (c *checker) meet(v cue.Value) {
	nodes := get(v, "output", "nodes")
	for name := range fields(nodes) {
		c.meetID(name)
	}
	for _, n := range elements(nodes) {
		if id, ok := text(get(n, "id")); ok {
			c.meetID(id)
		}
	}
}

func (c *checker) meetID(id string) {
	if !c.ids[id] {
		c.ids[id], c.alive[id] = true, true
	}
}

// onlyDead says whether a node is made only below conditions that never hold.
func (c *checker) onlyDead(id string) bool { return c.ids[id] && !c.alive[id] && !c.dynamic }

// unmadeNodes tells the nodes below conditions that never hold.
func (c *checker) unmadeNodes() {
	for _, d := range c.dead {
		if c.onlyDead(d.id) {
			c.tell(problem.Problem{
				Position: d.pos, Path: "nodes." + d.id, Related: d.because,
				Message: "is never made: its condition never holds",
			})
		}
	}
}

// lacksDead says whether a message is that a node isn't there which is never
// made: that is told of the node.
func (c *checker) lacksDead(message string) bool {
	return slices.ContainsFunc(c.dead, func(d deadNode) bool {
		return c.onlyDead(d.id) && message == "no node "+strconv.Quote(d.id)
	})
}
