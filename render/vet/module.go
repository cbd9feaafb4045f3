package vet

import (
	"cmp"
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/render"
	"github.com/pequod-io/pequod/render/kinds"
)

// Module says what is wrong with a platform's module, by place. While it runs
// nobody else may use the module: it changes the module's syntax, and back.
func Module(p *render.Platform, catalog *kinds.Catalog) render.Problems {
	c := &checker{
		platform: p, catalog: catalog, said: map[render.Problem]bool{},
		services: map[render.Pos]*service{},
	}
	inst := p.Module.Value().BuildInstance()
	input := c.evaluate(inst).LookupPath(cue.ParsePath("input"))
	s := newSelectors(inst, "#Render", []cue.Value{input})
	s.check(inst)
	for _, q := range s.problems {
		c.tell(q)
	}
	c.idWalker = nodeIDs(inst, s.never)
	graphs := []cue.Value{c.evaluate(inst)}
	branches := branchesOf(inst)
	all := slices.Concat(branches...)
	for _, clauses := range append(branches, all) {
		holding(clauses, func() { graphs = append(graphs, c.evaluate(inst)) })
	}
	for _, g := range graphs {
		c.meet(g)
	}
	for _, g := range graphs {
		c.nodes(g)
	}
	c.unmadeNodes()
	c.balancers()
	slices.SortStableFunc(c.problems, func(a, b render.Problem) int {
		return cmp.Or(cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Column, b.Pos.Column), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
	})
	return c.problems
}

// checker gathers what is found, each thing once.
type checker struct {
	platform *render.Platform
	catalog  *kinds.Catalog
	problems render.Problems
	said     map[render.Problem]bool
	services map[render.Pos]*service
	*idWalker
}

func (c *checker) tell(p render.Problem) {
	if p.Rule == "" {
		p.Rule = render.RuleModule
	}
	if !c.said[p] {
		c.said[p] = true
		c.problems = append(c.problems, p)
	}
}

// evaluate gives #Render with an input that is only its schema.
func (c *checker) evaluate(inst *build.Instance) cue.Value {
	ctx := cuecontext.New()
	root := ctx.BuildInstance(inst)
	if root.Err() != nil {
		return root
	}
	schema, err := parser.ParseExpr("schema", string(c.platform.Schema(c.platform.Version)))
	if err != nil {
		return root // names of versions are checked when the platform is made
	}
	input := ast.NewStruct("spec", schema)
	return ctx.BuildFile(&ast.File{Decls: []ast.Decl{&ast.EmbedDecl{
		Expr: ast.NewBinExpr(token.AND, ast.NewIdent("#Render"), ast.NewStruct("input", input)),
	}}}, cue.Scope(root))
}

// branchesOf lists, for each `if` of the module, the conditions that have to
// hold for it.
func branchesOf(inst *build.Instance) [][]*ast.IfClause {
	var branches [][]*ast.IfClause
	var outer []*ast.IfClause
	var visit func(n ast.Node) bool
	visit = func(n ast.Node) bool {
		x, ok := n.(*ast.Comprehension)
		if !ok {
			return true
		}
		before := outer
		outer = slices.Clone(outer)
		for _, clause := range x.Clauses {
			if c, ok := clause.(*ast.IfClause); ok {
				outer = append(outer, c)
			}
		}
		if len(outer) > len(before) {
			branches = append(branches, outer)
		}
		ast.Walk(x.Value, visit, nil)
		outer = before
		return false
	}
	for _, f := range inst.Files {
		ast.Walk(f, visit, nil)
	}
	return branches
}

// holding runs a function while conditions are true.
func holding(clauses []*ast.IfClause, run func()) {
	conditions := make([]ast.Expr, len(clauses))
	for i, c := range clauses {
		conditions[i] = c.Condition
		defer func() { c.Condition = conditions[i] }()
	}
	for _, c := range clauses {
		c.Condition = ast.NewBool(true)
	}
	run()
}

func posOf(p token.Pos) render.Pos {
	if !p.IsValid() {
		return render.Pos{}
	}
	q := p.Position()
	return render.Pos{File: q.Filename, Line: q.Line, Column: q.Column}
}
