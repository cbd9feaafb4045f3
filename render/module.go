package render

import (
	"slices"
	"sync/atomic"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
)

// Module is a CUE package, parsed and with its imports resolved. It is safe for
// concurrent use.
type Module struct {
	// Name is the module's path from cue.mod, or the package's name if it has
	// none.
	Name string
	// Digest is "sha256:" and the hex digest over the names and bytes of the
	// package's files and those of its imports.
	Digest string
	// Version is that of the [Source], or "".
	Version string
	// Ref is the user's name for the module.
	Ref string

	inst *build.Instance
	// mayHaveRules is false if the module has no rules in CEL of its own.
	mayHaveRules bool
	// spare is an evaluated module that no goroutine uses, or nil. Loading and
	// naming a platform evaluate the module, and the first Renderer reuses it.
	spare atomic.Pointer[builtModule]
}

// builtModule is a module evaluated in a CUE context of its own. A context is
// not safe for concurrent use, and never forgets a name that it has seen, so a
// builtModule belongs to one goroutine and is replaced after some uses.
type builtModule struct {
	ctx  *cue.Context
	root cue.Value
	// uses counts the instances evaluated; see maxUses.
	uses int
}

// Files returns the parsed files of the module and its imports.
func (m *Module) Files() []*ast.File { return filesOf(m.inst) }

// filesOf returns the parsed files of a package and its imports.
func filesOf(inst *build.Instance) []*ast.File {
	files := slices.Clone(inst.Files)
	for _, d := range inst.Dependencies() {
		files = append(files, d.Files...)
	}
	return files
}

// Value returns the module evaluated in a new CUE context, which the caller
// owns.
func (m *Module) Value() cue.Value { return m.build().root }

// build evaluates the module in a new context. The parsed files are shared with
// other contexts, which only read them.
func (m *Module) build() *builtModule {
	ctx := NewContext()
	return &builtModule{ctx: ctx, root: ctx.BuildInstance(m.inst)}
}

// acquire returns an evaluated module for the caller's exclusive use.
func (m *Module) acquire() *builtModule {
	if b := m.spare.Swap(nil); b != nil {
		return b
	}
	return m.build()
}

// giveBack keeps an evaluated module for the next acquire. The caller must not
// use it any more. Only one is kept; another one that is given back replaces it.
func (m *Module) giveBack(b *builtModule) { m.spare.Store(b) }

// has reports whether the module has a definition at its top; def is without #.
func (b *builtModule) has(def string) bool {
	return b.root.LookupPath(cue.MakePath(cue.Def(def))).Exists()
}

// definitions returns the definitions at the top of the module, sorted.
func (b *builtModule) definitions() []string {
	var names []string
	it, err := b.root.Fields(cue.Definitions(true))
	if err != nil {
		return nil
	}
	for it.Next() {
		if it.Selector().IsDefinition() {
			names = append(names, it.Selector().String())
		}
	}
	slices.Sort(names)
	return names
}

// missingDefinition returns the problem of a module that lacks a definition.
// names are the definitions that it has.
func (m *Module) missingDefinition(def string, names []string) problem.Problem {
	return problem.Problem{
		Position: problem.Position{File: m.Ref}, Rule: problem.RuleModule,
		Message: "module has no " + def, Hint: source.Hint(def, names),
	}
}

// eval evaluates an expression in the scope of the module.
//
// Everything is evaluated from syntax, as a file: in an expression,
// definitions would lose their closedness and unknown fields would pass. For
// the same reason nothing is unified with a value that is evaluated already.
func (b *builtModule) eval(expr ast.Expr) cue.Value {
	return b.ctx.BuildFile(&ast.File{Decls: []ast.Decl{&ast.EmbedDecl{Expr: expr}}}, cue.Scope(b.root))
}

// unify evaluates a definition of the module unified with an expression.
func (b *builtModule) unify(def string, e ast.Expr) cue.Value {
	return b.eval(ast.NewBinExpr(token.AND, ast.NewIdent(def), e))
}
