package vet

import (
	"cmp"
	"slices"

	"github.com/pequod-io/pequod/internal/problem"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/render"
	"github.com/pequod-io/pequod/render/kinds"
)

// Module says what is wrong with a platform's module, by place. The guard runs each
// evaluation and may end it; its error ends the check.
func Module(p *render.Platform, catalog *kinds.Catalog, guard func(run func()) error) (problem.List, error) {
	c := &checker{platform: p, catalog: catalog, guard: guard, said: map[problem.Problem]bool{}}
	var s *selectors
	c.bounded(func() {
		c.build()
		s = newSelectors(c.inst, "#Render", []cue.Value{c.input()})
		s.check(c.inst)
		c.idWalker = nodeIDs(c.inst, s.never)
		for _, q := range slices.Concat(s.problems, openLists(c.inst)) {
			c.tell(q)
		}
	})
	for _, g := range c.graphs(s) {
		c.bounded(func() { c.graph(g) })
	}
	if c.err != nil {
		return nil, c.err
	}
	c.unmadeNodes()
	slices.SortStableFunc(c.problems, func(a, b problem.Problem) int {
		return cmp.Or(cmp.Compare(a.Position.File, b.Position.File), cmp.Compare(a.Position.Line, b.Position.Line),
			cmp.Compare(a.Position.Column, b.Position.Column), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
	})
	return c.problems, nil
}

// checker evaluates a module and gathers what is found, each thing once.
type checker struct {
	platform *render.Platform
	catalog  *kinds.Catalog
	inst     *build.Instance
	ctx      *cue.Context
	root     cue.Value
	// metadata is what every sample begins with.
	metadata []want

	guard func(run func()) error
	// err is the guard's; after it nothing is evaluated.
	err error

	problems problem.List
	said     map[problem.Problem]bool
	*idWalker
}

func (c *checker) bounded(run func()) {
	if c.err == nil {
		c.err = c.guard(run)
	}
}

// build makes the module ready to be evaluated.
func (c *checker) build() {
	c.inst, c.ctx = c.platform.Module.Value().BuildInstance(), cuecontext.New()
	c.root = c.ctx.BuildInstance(c.inst)
	for _, field := range []string{"name", "namespace"} {
		w := want{at: []step{{field: "metadata"}, {field: field}}, value: ast.NewString(sampleName)}
		if c.evaluate(c.sample(w)).LookupPath(inputPath).Validate() == nil {
			c.metadata = append(c.metadata, w)
		}
	}
}

var inputPath = cue.ParsePath("input")

// input is the schema of the input.
func (c *checker) input() cue.Value { return c.evaluate(&sample{}).LookupPath(inputPath) }

// tell keeps a problem, unless one is known that says the same of the place.
func (c *checker) tell(p problem.Problem) {
	if p.Rule == "" {
		p.Rule = problem.RuleModule
	}
	same := p
	same.Rule = ""
	if same.Position.File != "" {
		same.Path = ""
	}
	if !c.said[same] {
		c.said[same] = true
		c.problems = append(c.problems, p)
	}
}

// evaluate gives #Render with an input that is its schema and a sample.
func (c *checker) evaluate(s *sample) cue.Value {
	if c.root.Err() != nil {
		return c.root
	}
	schema, err := parser.ParseExpr("schema", string(c.platform.Schema(c.platform.Version)))
	if err != nil {
		return c.root // names of versions are checked when the platform is made
	}
	given := ast.NewStruct("input", ast.NewStruct("spec", schema))
	given.Elts = append(given.Elts, &ast.Field{Label: ast.NewIdent("input"), Value: s.syntax()})
	return c.ctx.BuildFile(&ast.File{Decls: []ast.Decl{&ast.EmbedDecl{
		Expr: ast.NewBinExpr(token.AND, ast.NewIdent("#Render"), given),
	}}}, cue.Scope(c.root))
}

func posOf(p token.Pos) problem.Position {
	if !p.IsValid() {
		return problem.Position{}
	}
	q := p.Position()
	return problem.Position{File: q.Filename, Line: q.Line, Column: q.Column}
}
