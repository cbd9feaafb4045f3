package render

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/load"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/internal/source/cueerror"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// Source is where the files of a module are: a file system whose root is the
// module's root, and the package's directory in it.
type Source struct {
	FS fs.FS
	// Dir is slash-separated and relative to the root of FS; "." or "" is the root.
	Dir string
	// Show gives a file of FS the name that its reader knows it by.
	Show func(file string) string
	// Ref is what the user wrote to name the module.
	Ref string
	// Version is the module's version where its source has one.
	Version string
}

// Module is a CUE package, parsed and with its imports resolved. It may be used
// by several goroutines at once.
type Module struct {
	// Name is the module's path where cue.mod gives one, else the package's name.
	Name string
	// Digest is "sha256:" and a hex digest over the names and bytes of the
	// files that the package is made of, its imports included.
	Digest  string
	Version string
	Ref     string

	inst  *build.Instance
	spare atomic.Pointer[built]
}

// built is a module evaluated in a context of its own. Contexts are not for
// concurrent use, and keep every name that they ever saw.
type built struct {
	ctx  *cue.Context
	root cue.Value
	uses int
}

// Load parses a module and resolves its imports, from the file system alone.
// Its errors are [Problems].
func Load(src Source) (*Module, error) {
	read := &recorder{FS: src.FS, files: map[string][]byte{}}
	insts := src.parse(read)
	if len(insts) != 1 {
		return nil, moduleProblem(src, "names %d packages; one is expected", len(insts))
	}
	inst := insts[0]
	if err := errors.Join(errList(inst.Err), errList(inst.ResolutionErr)); err != nil {
		return nil, loadProblems(src, err)
	}
	for _, i := range append(inst.Dependencies(), inst) {
		if i.Err != nil {
			return nil, loadProblems(src, i.Err)
		}
		if err := refused(i); err != nil {
			return nil, err
		}
	}
	files := read.of(inst, src.Show)
	if err := invalidUTF8(files); err != nil {
		return nil, err
	}
	m := &Module{Name: inst.PkgName, Digest: digestOf(files), Version: src.Version, Ref: src.Ref, inst: inst}
	if mod, _, _ := strings.Cut(inst.Module, "@"); mod != "" {
		m.Name = path.Join(mod, src.Dir)
	}
	b := m.build()
	if err := b.root.Validate(); err != nil {
		return nil, cueerror.ProblemsIn(src.Ref, err)
	}
	for _, name := range []string{"#Input", "#Render", "#Policy"} {
		// Not Err: a definition may be incomplete until it has its input.
		if err := b.root.LookupPath(cue.ParsePath(name)).Validate(); err != nil && b.has(name[1:]) {
			return nil, cueerror.ProblemsIn(src.Ref, err)
		}
	}
	m.spare.Store(b)
	return m, nil
}

func (src Source) parse(files fs.FS) []*build.Instance {
	return load.Instances([]string{"."}, &load.Config{
		FS:         files,
		Dir:        path.Join("/", src.Dir),
		Env:        []string{},
		Registry:   offline{},
		FromFSPath: src.Show,
	})
}

// Files gives the files of a module and of what it imports, parsed and not
// evaluated, as far as they can be read and are no larger than what people write.
func (src Source) Files() []*ast.File {
	var files []*ast.File
	read := &recorder{FS: src.FS, files: map[string][]byte{}}
	for _, inst := range src.parse(short{read}) {
		files = append(files, filesOf(inst)...)
	}
	return files
}

// Files gives the module's files and those of what it imports.
func (m *Module) Files() []*ast.File { return filesOf(m.inst) }

func filesOf(inst *build.Instance) []*ast.File {
	files := slices.Clone(inst.Files)
	for _, d := range inst.Dependencies() {
		files = append(files, d.Files...)
	}
	return files
}

// errList keeps a nil errors.Error from becoming a non-nil error.
func errList(err cueerrors.Error) error {
	if err == nil {
		return nil
	}
	return err
}

// refused finds what a hermetic package has no use for: packages that run
// commands, and data from outside CUE.
func refused(inst *build.Instance) error {
	problem := func(n ast.Node, message string) error {
		return problem.List{{Position: cuesyntax.Position(n.Pos()), Rule: problem.RuleModule, Message: message}}
	}
	for _, f := range inst.Files {
		for imp := range f.ImportSpecs() {
			if p := strings.Trim(imp.Path.Value, `"`); p == "tool" || strings.HasPrefix(p, "tool/") {
				return problem(imp, "imports "+p+": modules run no commands")
			}
		}
		for _, d := range f.Decls {
			if a, ok := d.(*ast.Attribute); ok && strings.HasPrefix(a.Text, "@extern(") {
				return problem(a, "@extern is not supported: a module is made of CUE alone")
			}
		}
	}
	return nil
}

// take gives an evaluated module that nobody else uses.
func (m *Module) take() *built {
	if b := m.spare.Swap(nil); b != nil {
		return b
	}
	return m.build()
}

// Value is the module evaluated in a context of its own.
func (m *Module) Value() cue.Value { return m.build().root }

func (m *Module) build() *built {
	ctx := cuecontext.New()
	return &built{ctx: ctx, root: ctx.BuildInstance(m.inst)}
}

func (b *built) has(def string) bool {
	return b.root.LookupPath(cue.MakePath(cue.Def(def))).Exists()
}

// missing gives the problem of a module that lacks a definition.
func (m *Module) missing(def string, names []string) problem.Problem {
	p := problem.Problem{Position: problem.Position{File: m.Ref}, Rule: problem.RuleModule, Message: "module has no " + def}
	p.Hint = source.Hint(def, names)
	return p
}

// definitions lists the definitions at the top of the module.
func (b *built) definitions() []string {
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
