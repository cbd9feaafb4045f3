package render

import (
	"context"
	"errors"
	"fmt"
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
	"cuelang.org/go/mod/modfile"
	"cuelang.org/go/mod/module"

	"github.com/pequod-io/pequod/api/nearest"
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
	insts := load.Instances([]string{"."}, &load.Config{
		FS:         read,
		Dir:        path.Join("/", src.Dir),
		Env:        []string{},
		Registry:   offline{},
		FromFSPath: src.Show,
	})
	if len(insts) != 1 {
		return nil, moduleProblem(src, "names %d packages; one is expected", len(insts))
	}
	inst := insts[0]
	if err := errors.Join(errList(inst.Err), errList(inst.ResolutionErr)); err != nil {
		return nil, loadProblems(src, err)
	}
	for _, dep := range inst.Dependencies() {
		if dep.Err != nil {
			return nil, loadProblems(src, dep.Err)
		}
		if toolOnly(dep.ImportPath) {
			return nil, moduleProblem(src, "imports %s: modules run no commands", dep.ImportPath)
		}
	}
	for _, f := range inst.Files {
		for imp := range f.ImportSpecs() {
			if p := strings.Trim(imp.Path.Value, `"`); toolOnly(p) {
				return nil, Problems{{Pos: posOf(imp.Pos()), Rule: RuleModule, Message: "imports " + p + ": modules run no commands"}}
			}
		}
	}
	if at := embedAttr(inst); at != nil {
		return nil, Problems{{Pos: posOf(at.Pos()), Rule: RuleModule, Message: "@embed is not supported: a module is made of CUE files"}}
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
		return nil, ModuleProblems(src.Ref, err)
	}
	for _, name := range []string{"#Input", "#Render", "#Policy"} {
		// Not Err: a definition may be incomplete until it has its input.
		if err := b.root.LookupPath(cue.ParsePath(name)).Validate(); err != nil && b.has(name[1:]) {
			return nil, ModuleProblems(src.Ref, err)
		}
	}
	m.spare.Store(b)
	return m, nil
}

// errList keeps a nil errors.Error from becoming a non-nil error.
func errList(err cueerrors.Error) error {
	if err == nil {
		return nil
	}
	return err
}

func toolOnly(importPath string) bool {
	return importPath == "tool" || strings.HasPrefix(importPath, "tool/")
}

func embedAttr(inst *build.Instance) ast.Node {
	for _, f := range inst.Files {
		for _, d := range f.Decls {
			if a, ok := d.(*ast.Attribute); ok && strings.HasPrefix(a.Text, "@extern(") {
				return a
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

func (m *Module) build() *built {
	ctx := cuecontext.New()
	return &built{ctx: ctx, root: ctx.BuildInstance(m.inst)}
}

// Input gives the module's #Input, in a context of its own.
func (m *Module) Input() cue.Value {
	return m.build().root.LookupPath(cue.MakePath(cue.Def("Input")))
}

// offline is the registry of modules that are complete in themselves.
type offline struct{}

func (offline) ModFile(_ context.Context, m module.Version) (*modfile.File, error) {
	return nil, errNoRegistry(m)
}

func (offline) Fetch(_ context.Context, m module.Version) (module.SourceLoc, error) {
	return module.SourceLoc{}, errNoRegistry(m)
}

func (offline) ModuleVersions(_ context.Context, _ string) ([]string, error) { return nil, nil }

func errNoRegistry(m module.Version) error {
	return fmt.Errorf("needs %v: modules from registries are not supported", m)
}

func moduleProblem(src Source, format string, args ...any) Problems {
	return Problems{{Pos: Pos{File: src.Ref}, Rule: RuleModule, Message: fmt.Sprintf(format, args...)}}
}

// loadProblems gives load errors one line each: they are of files and imports,
// not of fields.
func loadProblems(src Source, err error) Problems {
	ps := ModuleProblems(src.Ref, err)
	for i := range ps {
		ps[i].Path = ""
	}
	return ps
}

// ModuleProblems gives errors of CUE about a module one line each, at the
// author's lines; the module's reference stands in where CUE knows none.
func ModuleProblems(ref string, err error) Problems {
	ps := moduleErrors(err)
	for i := range ps {
		if ps[i].Pos.File == "" {
			ps[i].Pos.File = ref
		}
	}
	return ps
}

// moduleErrors turns errors of CUE itself into problems at the author's lines.
func moduleErrors(err error) Problems {
	var ps Problems
	for _, e := range cueErrors(err) {
		p := Problem{Rule: RuleModule, Path: errPath(e), Message: errMessage(e)}
		if at := cueerrors.Positions(e); len(at) > 0 {
			p.Pos = posOf(at[0])
		}
		ps = append(ps, p)
	}
	return ps.sorted()
}

func cueErrors(err error) []cueerrors.Error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []cueerrors.Error
		for _, e := range joined.Unwrap() {
			all = append(all, cueErrors(e)...)
		}
		return all
	}
	return cueerrors.Errors(err)
}

func errPath(e cueerrors.Error) string {
	return shownPath(e.Path())
}

func shownPath(p []string) string {
	var path string
	for _, s := range p {
		if isIndex(s) {
			path += "[" + s + "]"
			continue
		}
		path = joinPath(path, unquoteLabel(s))
	}
	return path
}

// errMessage gives CUE's own words in one line.
func errMessage(e cueerrors.Error) string {
	format, args := e.Msg()
	msg := fmt.Sprintf(format, args...)
	if cause := errors.Unwrap(e); cause != nil && !strings.Contains(msg, cause.Error()) {
		// The cause says the position again.
		text := cause.Error()
		if at := cueerrors.Positions(e); len(at) > 0 {
			text = strings.TrimPrefix(text, at[0].String()+": ")
		}
		msg = strings.TrimPrefix(msg+": "+text, ": ")
	}
	return strings.Join(strings.Fields(msg), " ")
}

func (b *built) has(def string) bool {
	return b.root.LookupPath(cue.MakePath(cue.Def(def))).Exists()
}

// missing gives the problem of a module that lacks a definition.
func (m *Module) missing(def string, names []string) Problem {
	p := Problem{Pos: Pos{File: m.Ref}, Rule: RuleModule, Message: "module has no " + def}
	p.Hint = nearest.Hint(def, names)
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
