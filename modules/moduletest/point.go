package moduletest

import (
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/token"
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
	Kind PointKind
	// Text is the id of the node, the guard, or the field and its value.
	Text string
	// File is the name of the file as the user knows it. Line and Column begin at
	// 1.
	File         string
	Line, Column int

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
	p.decls(f.Decls, nil)
	return p.points
}

// pointFinder walks the syntax of a file. The path arguments of its methods are
// the labels from the top of the file. For positions that have no label, such as
// arguments of a call, the path has a placeholder such as "()" or "[]", so that
// it never looks like the path of the nodes.
type pointFinder struct {
	file   string
	enums  map[string]bool // definitions that are part of #Input
	points []*Point
}

// add adds a point with one edit, and returns it so that the caller can set other
// edits. text names the point in messages; at is its position.
func (p *pointFinder) add(kind PointKind, text string, at token.Pos, e edit) *Point {
	e.file = p.file
	pos := at.Position()
	pt := &Point{Kind: kind, Text: text, Line: pos.Line, Column: pos.Column, file: p.file, edits: [][]edit{{e}}}
	p.points = append(p.points, pt)
	return pt
}

// decls visits declarations. Those of a comprehension and of an embedded struct
// have the path of the struct around them, as in CUE.
func (p *pointFinder) decls(decls []ast.Decl, path []string) {
	for _, d := range decls {
		switch x := d.(type) {
		case *ast.Field:
			p.field(x, path)
		case *ast.Comprehension:
			p.comprehension(x, path)
		case *ast.EmbedDecl:
			p.expr(x.Expr, path)
		case *ast.LetClause:
			p.expr(x.Expr, append(path, "let"))
		}
	}
}

// isNodesPath reports whether a path is that of the nodes of a module, which are
// a struct with ids as labels, or a list.
func isNodesPath(path []string) bool {
	return slices.Equal(path, []string{"#Render", "output", "nodes"})
}

// field visits a field: a node, an enumeration, or any other value.
func (p *pointFinder) field(f *ast.Field, path []string) {
	below := append(slices.Clone(path), labelText(f.Label))
	if isNodesPath(path) {
		p.node(labelText(f.Label), f.Label.Pos(), f.Value)
	}
	if len(below) > 0 && p.isSchema(below) {
		p.enum(f.Value, below)
	}
	p.expr(f.Value, below)
}

// node adds a point for a node. There are two alternative changes: the whole node
// becomes an error, or every value in it does. Either may go unnoticed alone; see
// leaves.
func (p *pointFinder) node(id string, at token.Pos, value ast.Expr) {
	pt := p.add(PointNode, id, at, edit{})
	pt.edits = [][]edit{p.wrap(value)}
	if s, ok := value.(*ast.StructLit); ok {
		pt.edits = append(pt.edits, p.leaves(s))
	}
}

// wrap returns the edits that make a value an error: VALUE becomes _|_ & {VALUE}.
func (p *pointFinder) wrap(value ast.Expr) []edit {
	from, to := value.Pos().Offset(), value.End().Offset()
	return []edit{
		{file: p.file, from: from, to: from, text: bottom + " & {"},
		{file: p.file, from: to, to: to, text: "}"},
	}
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

// comprehension visits a comprehension: its guards, its sources and its body.
func (p *pointFinder) comprehension(c *ast.Comprehension, path []string) {
	s, ok := c.Value.(*ast.StructLit)
	if !ok {
		return
	}
	p.branches(c, s)
	for _, clause := range c.Clauses {
		switch x := clause.(type) {
		case *ast.ForClause:
			p.expr(x.Source, append(path, "for"))
		case *ast.LetClause:
			p.expr(x.Expr, append(path, "let"))
		}
	}
	p.decls(s.Elts, path)
}

// branches adds two points for a comprehension with guards. The body is reached by
// a case for which the guards hold. The absence of the body is reached by a case
// whose outcome changes when the guards are replaced by true.
func (p *pointFinder) branches(c *ast.Comprehension, s *ast.StructLit) {
	var texts []string
	var always []edit
	for _, clause := range c.Clauses {
		texts = append(texts, nodeText(clause))
		if x, ok := clause.(*ast.IfClause); ok {
			always = append(always, edit{file: p.file, from: x.Condition.Pos().Offset(), to: x.Condition.End().Offset(), text: "true"})
		}
	}
	// Without a guard the body always exists, apart from loops without items.
	if len(always) == 0 || !s.Lbrace.IsValid() {
		return
	}
	text, at := strings.Join(texts, " "), s.Lbrace.Offset()+1
	pt := p.add(PointBranch, text, c.Pos(), edit{from: at, to: at, text: bottom + ", "})
	pt.edits = append(pt.edits, p.leaves(s))
	p.add(PointElse, text, c.Pos(), edit{}).edits = [][]edit{always}
}

// expr looks for points inside an expression. It follows the parts in which
// modules usually have structs and comprehensions. Other expressions are not
// searched, so they have no points.
func (p *pointFinder) expr(e ast.Expr, path []string) {
	switch x := e.(type) {
	case *ast.StructLit:
		p.decls(x.Elts, path)
	case *ast.ListLit:
		p.list(x, path)
	case *ast.BinaryExpr:
		p.expr(x.X, path)
		p.expr(x.Y, path)
	case *ast.UnaryExpr:
		p.expr(x.X, path)
	case *ast.ParenExpr:
		p.expr(x.X, path)
	case *ast.SelectorExpr:
		p.expr(x.X, append(path, "."))
	case *ast.IndexExpr:
		p.expr(x.X, append(path, "."))
		p.expr(x.Index, append(path, "."))
	case *ast.CallExpr:
		for _, arg := range x.Args {
			p.expr(arg, append(path, "()"))
		}
	case *ast.Interpolation:
		for _, part := range x.Elts {
			p.expr(part, append(path, "()"))
		}
	}
}

// list visits a list.
func (p *pointFinder) list(l *ast.ListLit, path []string) {
	for i, e := range l.Elts {
		if isNodesPath(path) {
			p.listNode(i, e)
		}
		below := append(slices.Clone(path), "[]")
		if c, ok := e.(*ast.Comprehension); ok {
			p.comprehension(c, below)
			continue
		}
		if e, ok := e.(*ast.Ellipsis); ok {
			if e.Type != nil {
				p.expr(e.Type, below)
			}
			continue
		}
		p.expr(e, below)
	}
}

// listNode adds a point for a node in a list. Its text is the field id, or the
// index if the element has no id. A node in a comprehension counts as one point,
// however many the comprehension yields.
func (p *pointFinder) listNode(i int, e ast.Expr) {
	if c, ok := e.(*ast.Comprehension); ok {
		s, ok := c.Value.(*ast.StructLit)
		if !ok {
			return
		}
		e = s
	}
	s, ok := e.(*ast.StructLit)
	if !ok || !s.Lbrace.IsValid() {
		return
	}
	id := fmt.Sprintf("nodes[%d]", i)
	for _, d := range s.Elts {
		if f, ok := d.(*ast.Field); ok && labelText(f.Label) == "id" {
			id = strings.Trim(nodeText(f.Value), `"`)
		}
	}
	at := s.Lbrace.Offset() + 1
	p.add(PointNode, id, s.Lbrace, edit{from: at, to: at, text: bottom + ", "})
}

// isSchema reports whether a path is part of the schema of instances.
func (p *pointFinder) isSchema(path []string) bool {
	return slices.ContainsFunc(path, func(label string) bool { return p.enums[label] })
}

// enum adds a point for each literal of a disjunction with at least two. For
// size: *"small" | "large" in #Input, the points are size: "small" and size:
// "large". It also looks into the items of a list. Other disjuncts, such as
// structs and types, are not points.
func (p *pointFinder) enum(e ast.Expr, path []string) {
	operands := disjuncts(e)
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
		p.add(PointValue, name+": "+l.Value, l.Pos(), edit{from: l.Pos().Offset(), to: l.End().Offset(), text: bottom})
	}
}

// disjuncts returns the operands of a disjunction, with their default marks. For
// any other expression it returns the expression itself.
func disjuncts(e ast.Expr) []ast.Expr {
	switch x := e.(type) {
	case *ast.BinaryExpr:
		if x.Op == token.OR {
			return append(disjuncts(x.X), disjuncts(x.Y)...)
		}
	case *ast.ParenExpr:
		return disjuncts(x.X)
	}
	return []ast.Expr{e}
}

// labelText returns the name of a label, or the text of a computed label, such as
// "\(input.metadata.name)-tls" with its quotes.
func labelText(l ast.Label) string {
	if name, _, err := ast.LabelName(l); err == nil {
		return name
	}
	if a, ok := l.(*ast.Alias); ok {
		return nodeText(a.Expr)
	}
	return nodeText(l)
}

// nodeText formats syntax in one line. Clauses of a comprehension are formatted
// part by part, because CUE's formatter does not take them alone.
func nodeText(n ast.Node) string {
	switch c := n.(type) {
	case *ast.IfClause:
		return "if " + nodeText(c.Condition)
	case *ast.ForClause:
		names := nodeText(c.Value)
		if c.Key != nil {
			names = nodeText(c.Key) + ", " + names
		}
		return "for " + names + " in " + nodeText(c.Source)
	case *ast.LetClause:
		return "let " + nodeText(c.Ident) + " = " + nodeText(c.Expr)
	}
	b, err := format.Node(n)
	if err != nil {
		return "?"
	}
	return strings.Join(strings.Fields(string(b)), " ")
}
