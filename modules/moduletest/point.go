package moduletest

import (
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/schema/syntax"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// PointKind is the kind of a point. The values are part of the JSON output.
type PointKind string

// The kinds of point.
const (
	// A node of the graph, by its id.
	PointNode PointKind = "node"
	// The body of an `if`, reached when its guards hold.
	PointBranch PointKind = "branch"
	// The absence of that body, reached when a guard does not hold.
	PointElse PointKind = "else"
	// One literal of an enumeration in the schema.
	PointValue PointKind = "value"
)

// Point is a part of a module that some case should reach: a node, the body of an
// `if`, the absence of that body, or a value of an enumeration. For example, the
// guard in
//
//	#Render: output: nodes: {if input.spec.tls {cert: resource: {...}}}
//
// gives the points node cert, branch `if input.spec.tls`, and else of the same
// text.
type Point struct {
	// File is the name of the file as the user knows it. Line and Column begin at
	// 1.
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`

	Kind PointKind `json:"kind"`
	// Text is the id of the node, the guard, or the field and its value.
	Text string `json:"text"`

	// file is the name of the file in the module.
	file string
	// edits are alternative changes of the module. A case reaches the point if one
	// of them changes its outcome.
	edits [][]edit
}

// edit replaces the bytes from..to of a file with text. The edits of a point turn
// it into an error, or its guard into true. from and to are offsets in the
// original file; see apply.
type edit struct {
	file     string
	from, to int
	text     string
}

// bottom is an error in CUE. A case that evaluates a part which is replaced by
// bottom has another outcome.
const bottom = "_|_"

// pointsIn returns the points of a file. enums has the names of the definitions
// that are part of #Input.
func pointsIn(f *ast.File, file string, enums map[string]bool) []*Point {
	p := &pointFinder{file: file, enums: enums}
	syntax.Walk(ast.Node(f), nil, p.visit)
	return p.points
}

// pointFinder walks the syntax of a file. The path arguments of its methods are
// the labels from the top of the file.
type pointFinder struct {
	file   string
	enums  map[string]bool // definitions that are part of #Input
	points []*Point
}

// add adds a point with alternative edits. text names the point in messages; at is
// its position.
func (p *pointFinder) add(kind PointKind, text string, at token.Pos, edits ...[]edit) {
	pos := at.Position()
	p.points = append(p.points, &Point{Kind: kind, Text: text, Line: pos.Line, Column: pos.Column, file: p.file, edits: edits})
}

// replace returns the edits that replace a part of the file.
func (p *pointFinder) replace(from, to token.Pos, text string) []edit {
	return []edit{{file: p.file, from: from.Offset(), to: to.Offset(), text: text}}
}

// visit adds the points of a node. Nodes inside of a comprehension or an embedded
// struct have the path of the struct around them, as in CUE. Positions that have no
// label, such as arguments of a call, get a placeholder in their path, so that it
// never looks like the path of the nodes.
func (p *pointFinder) visit(n ast.Node, path []string) ([]string, bool) {
	switch x := n.(type) {
	case *ast.Field:
		below := append(slices.Clone(path), labelText(x.Label))
		if isNodesPath(path) {
			p.node(x)
		}
		if slices.ContainsFunc(below, func(label string) bool { return p.enums[label] }) {
			p.enum(x.Value, below)
		}
		syntax.Walk(ast.Node(x.Value), below, p.visit)
		return nil, false
	case *ast.ListLit:
		for i, e := range x.Elts {
			if isNodesPath(path) {
				p.listNode(i, e)
			}
		}
	case *ast.Comprehension:
		p.branches(x)
		// In a list, the path is that of the item already.
		return path, true
	case *ast.IfClause:
		return nil, false
	case *ast.File, *ast.StructLit, *ast.EmbedDecl, *ast.BinaryExpr, *ast.UnaryExpr, *ast.ParenExpr:
		return path, true
	}
	return append(slices.Clone(path), "()"), true
}

// isNodesPath reports whether a path is that of the nodes of a module, which are
// a struct with ids as labels, or a list.
func isNodesPath(path []string) bool {
	return slices.Equal(path, []string{"#Render", "output", "nodes"})
}

// node adds a point for a node. There are two alternative changes: the whole node
// becomes an error, or every value in it does. Either may go unnoticed alone; see
// leaves.
func (p *pointFinder) node(f *ast.Field) {
	edits := [][]edit{p.wrap(f.Value)}
	if s, ok := f.Value.(*ast.StructLit); ok {
		edits = append(edits, p.leaves(s))
	}
	p.add(PointNode, labelText(f.Label), f.Label.Pos(), edits...)
}

// wrap returns the edits that make a value an error: VALUE becomes _|_ & {VALUE}.
func (p *pointFinder) wrap(value ast.Expr) []edit {
	from, to := value.Pos(), value.End()
	return append(p.replace(from, from, bottom+" & {"), p.replace(to, to, "}")...)
}

// leaves returns the edits that make every value in a struct an error, except for
// values below guards. An error in the struct itself is not enough, because CUE
// still evaluates the rest of such a struct.
func (p *pointFinder) leaves(s *ast.StructLit) []edit {
	var edits []edit
	for _, d := range s.Elts {
		f, ok := d.(*ast.Field)
		if !ok {
			continue
		}
		if inner, ok := f.Value.(*ast.StructLit); ok && len(inner.Elts) > 0 {
			edits = append(edits, p.leaves(inner)...)
			continue
		}
		edits = append(edits, p.wrap(f.Value)...)
	}
	return edits
}

// branches adds two points for a comprehension with guards. The body is reached by
// a case for which the guards hold. The absence of the body is reached by a case
// whose outcome changes when the guards are replaced by true.
func (p *pointFinder) branches(c *ast.Comprehension) {
	s, ok := c.Value.(*ast.StructLit)
	var texts []string
	var always []edit
	for _, clause := range c.Clauses {
		texts = append(texts, clauseText(clause))
		if x, ok := clause.(*ast.IfClause); ok {
			always = append(always, p.replace(x.Condition.Pos(), x.Condition.End(), "true")...)
		}
	}
	// Without a guard the body always exists, apart from loops without items.
	if len(always) == 0 || !ok || !s.Lbrace.IsValid() {
		return
	}
	text := strings.Join(texts, " ")
	p.add(PointBranch, text, c.Pos(), p.insert(s), p.leaves(s))
	p.add(PointElse, text, c.Pos(), always)
}

// insert returns the edit that makes a struct an error.
func (p *pointFinder) insert(s *ast.StructLit) []edit {
	return p.replace(s.Lbrace.Add(1), s.Lbrace.Add(1), bottom+", ")
}

// listNode adds a point for a node in a list. Its text is the field id, or the
// index if the element has no id. A node in a comprehension counts as one point,
// however many the comprehension yields.
func (p *pointFinder) listNode(i int, e ast.Expr) {
	if c, ok := e.(*ast.Comprehension); ok {
		e = c.Value
	}
	s, ok := e.(*ast.StructLit)
	if !ok || !s.Lbrace.IsValid() {
		return
	}
	id := fmt.Sprintf("nodes[%d]", i)
	if f := cuesyntax.Field(s, "id"); f != nil {
		id = strings.Trim(syntax.Text(f.Value), `"`)
	}
	p.add(PointNode, id, s.Lbrace, p.insert(s))
}

// enum adds a point for each literal of a disjunction with at least two. For
// size: *"small" | "large" in #Input, the points are size: "small" and size:
// "large". It also looks into the items of a list. Other disjuncts, such as
// structs and types, are not points.
func (p *pointFinder) enum(e ast.Expr, path []string) {
	operands := syntax.Operands(e, token.OR)
	if len(operands) < 2 {
		if l, ok := e.(*ast.ListLit); ok {
			for _, item := range l.Elts {
				if rest, ok := item.(*ast.Ellipsis); ok && rest.Type != nil {
					p.enum(rest.Type, append(path, "[]"))
				}
			}
		}
		return
	}
	var literals []*ast.BasicLit
	for _, o := range operands {
		if u, ok := o.(*ast.UnaryExpr); ok && u.Op == token.MUL {
			o = u.X
		}
		if l, ok := o.(*ast.BasicLit); ok && (l.Kind == token.STRING || l.Kind == token.INT) {
			literals = append(literals, l)
		}
	}
	if len(literals) < 2 {
		return
	}
	name := strings.TrimPrefix(strings.Join(path, "."), "#Input.")
	for _, l := range literals {
		p.add(PointValue, name+": "+l.Value, l.Pos(), p.replace(l.Pos(), l.End(), bottom))
	}
}

// labelText returns the name of a label, or the text of a computed label, such as
// "\(input.metadata.name)-tls" with its quotes.
func labelText(l ast.Label) string {
	if name, ok := syntax.StaticName(l); ok {
		return name
	}
	if a, ok := l.(*ast.Alias); ok {
		return syntax.Text(a.Expr)
	}
	return syntax.Text(l)
}

// clauseText formats a clause in one line. It formats the parts, because CUE's
// formatter does not take clauses alone.
func clauseText(clause ast.Clause) string {
	switch c := clause.(type) {
	case *ast.IfClause:
		return "if " + syntax.Text(c.Condition)
	case *ast.ForClause:
		names := syntax.Text(c.Value)
		if c.Key != nil {
			names = syntax.Text(c.Key) + ", " + names
		}
		return "for " + names + " in " + syntax.Text(c.Source)
	case *ast.LetClause:
		return "let " + syntax.Text(c.Ident) + " = " + syntax.Text(c.Expr)
	}
	return "?"
}
