package vet

import (
	"slices"

	"github.com/pequod-io/pequod/internal/problem"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/render"
	"github.com/pequod-io/pequod/render/kinds"
)

// Module checks a platform's module and returns the problems, sorted by position.
//
// Module runs every evaluation through guard, so that the caller can limit its
// time and memory. If guard returns an error, Module stops and returns it. It
// then returns no problems, because a partial list would look like a complete
// one.
func Module(p *render.Platform, o Options, guard func(run func()) error) (problem.List, error) {
	c := &checker{platform: p, catalog: o.Catalog, guard: guard, reported: map[problem.Problem]bool{}}
	var s *inputWalker
	c.guarded(func() {
		s = c.walkRender()
		c.checkLosses()
		for _, q := range slices.Concat(s.problems, openLists(c.inst)) {
			c.report(q)
		}
	})
	samples := c.renderSamples(s)
	for _, g := range samples {
		c.guarded(func() { c.checkGraph(g) })
	}
	c.renderConcrete(samples, o.AllowSecrets)
	if c.err != nil {
		return nil, c.err
	}
	// The ids of the rendered samples are complete only here.
	for _, p := range c.ids.problems() {
		c.report(p)
	}
	return c.problems.Sorted(), nil
}

// walkRender builds the module and walks the syntax of #Render.
func (c *checker) walkRender() *inputWalker {
	c.build()
	s := &inputWalker{resolver: c.resolver()}
	s.walk(c.inst, "#Render")
	// The ids come after the walk, because only the walk knows which guards never hold.
	c.ids = nodeIDsOf(c.inst, s.never)
	return s
}

// checker evaluates a module with samples and collects problems. It is used by one
// goroutine at a time.
type checker struct {
	// platform is the platform whose module is checked. Its stored version
	// supplies the schema of the input.
	platform *render.Platform
	// catalog has the schemas of the rendered kinds. It is nil for a policy,
	// which renders no nodes.
	catalog *kinds.Catalog
	// inst is the parsed module, ctx the context that evaluates it, and root its
	// value. build sets all three.
	inst *build.Instance
	ctx  *cue.Context
	root cue.Value
	// left is the number of evaluations until the context is replaced, if dropsValues is set: a
	// context keeps what was evaluated in it. The caller of eachSample must not keep values then.
	left        int
	dropsValues bool
	// metadata are the wants that every sample starts with: the name and namespace.
	metadata []want

	// generated are the strings in samples that were made from patterns.
	generated []string

	// anyNumber makes samples with larger numbers where the input refuses the usual ones.
	anyNumber bool
	// guard runs an evaluation. After it has returned an error, err is set and
	// nothing is evaluated any more.
	guard func(run func()) error
	// err is the first error of guard.
	err error

	// problems are the results; reported has them without their rules, to recognize
	// duplicates.
	problems problem.List
	reported map[problem.Problem]bool
	// ids has the ids of the nodes. It is nil until the syntax was walked, and
	// always nil for a policy.
	ids *nodeIDs
}

// guarded runs a function through the guard, unless the guard has failed before.
func (c *checker) guarded(run func()) {
	if c.err == nil {
		c.err = c.guard(run)
	}
}

// build builds the module in a CUE context of its own, and finds out which metadata
// its input accepts.
func (c *checker) build() {
	c.inst = c.platform.Module.Value().BuildInstance()
	c.newContext()
	// A module may leave metadata.name or metadata.namespace out of a closed
	// input. Setting such a field would make every sample invalid.
	for _, field := range []string{"name", "namespace"} {
		w := want{path: []element{{field: "metadata"}, {field: field}}, value: ast.NewString(sampleName)}
		if c.evaluate(c.sample(w)).LookupPath(inputPath).Validate() == nil {
			c.metadata = append(c.metadata, w)
		}
	}
}

// perContext is the number of evaluations in one context, if values are dropped. Building the
// module takes as long as one or two evaluations.
const perContext = 16

// newContext builds the module in a context of its own.
func (c *checker) newContext() {
	c.ctx, c.left = render.NewContext(), perContext
	c.root = c.ctx.BuildInstance(c.inst)
}

// inputPath is the path of the input in #Render.
var inputPath = cue.ParsePath("input")

// resolver returns a resolver for what #Render reads. The schema of the input is that
// of #Render, and for the spec that of the stored version.
func (c *checker) resolver() resolver {
	input := c.evaluate(&sample{}).LookupPath(inputPath)
	spec := c.root.LookupPath(cue.ParsePath(string(c.platform.Schema(c.platform.Version))))
	return resolver{input: inputSchema(input, spec), values: []cue.Value{input}}
}

// report records a problem, unless a problem with the same message was recorded for
// the same position, or for the same path if it has no position.
func (c *checker) report(p problem.Problem) {
	if p.Rule == "" {
		p.Rule = problem.RuleModule
	}
	// The same error usually occurs in many samples, at the same position but at
	// different paths, such as list indexes.
	same := p
	same.Rule = ""
	if same.Position.File != "" {
		same.Path = ""
	}
	if !c.reported[same] {
		c.reported[same] = true
		c.problems = append(c.problems, p)
	}
}

// evaluate returns #Render with an input that is unified with the schema of the
// stored version and with a sample. It builds this expression in the scope of the
// module:
//
//	#Render & {input: {spec: SCHEMA}, input: SAMPLE}
//
// If the module does not compile, evaluate returns the module's value with its
// error.
func (c *checker) evaluate(s *sample) cue.Value {
	if c.left--; c.dropsValues && c.left < 0 {
		c.newContext()
	}
	if c.root.Err() != nil {
		return c.root
	}
	schema, err := parser.ParseExpr("schema", string(c.platform.Schema(c.platform.Version)))
	if err != nil {
		return c.root // cannot happen: render.NewPlatform checks the names of versions
	}
	given := ast.NewStruct("input", ast.NewStruct("spec", schema))
	given.Elts = append(given.Elts, &ast.Field{Label: ast.NewIdent("input"), Value: s.syntax()})
	return c.ctx.BuildFile(&ast.File{Decls: []ast.Decl{&ast.EmbedDecl{
		Expr: ast.NewBinExpr(token.AND, ast.NewIdent("#Render"), given),
	}}}, cue.Scope(c.root))
}
