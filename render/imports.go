package render

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/load"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"
	"cuelang.org/go/mod/module"

	"github.com/pequod-io/pequod/internal/cuemod"
)

// maxImportDepth is the limit for packages that import each other in a chain. It keeps
// the stack of the loader small; real chains have fewer than 20.
const maxImportDepth = 500

// importer resolves imports among the files of a module and of the modules that it
// depends on. CUE's loader does not, because it finds vendored packages and other
// modules only on disk. The importer determines the module and the directory of a
// package; CUE's loader reads it.
type importer struct {
	src     Source
	maxFile int // as in recorder
	list    *cuemod.List
	others  map[cuemod.Location]cuemod.Files
	finder  *cuemod.Finder
	context *build.Context
	// roots are the modules that packages were loaded from, and modules those of the
	// loaded packages.
	roots   map[*cuemod.Module]*moduleRoot
	modules map[*build.Instance]*cuemod.Module
	// loading are the packages that are being loaded, the innermost last.
	loading []cuemod.Package
	// failed are the imports of other modules that were not found, by the path that
	// replaces theirs.
	failed map[string]failedImport
}

// failedImport is an import that was not found.
type failedImport struct {
	path string
	err  error
}

// moduleRoot is a module that packages are loaded from.
type moduleRoot struct {
	module *cuemod.Module
	config load.Config
	read   *recorder
	// show returns the user's name for a file.
	show func(file string) string
	// prefix is the beginning of the names of files in the digest: "" for the main
	// module.
	prefix string
}

// newImporter returns an importer for a module. maxFile is as in [recorder].
func newImporter(src Source, maxFile int) *importer {
	im := &importer{
		src: src, maxFile: maxFile,
		roots: map[*cuemod.Module]*moduleRoot{}, modules: map[*build.Instance]*cuemod.Module{},
		failed: map[string]failedImport{},
	}
	if src.Modules != nil {
		im.list, im.others = src.Modules.List, src.Modules.Modules
	} else {
		// CUE's loader reads this file as well, before any import, and reports its
		// mistakes.
		im.list, _ = cuemod.Read(src.FS, false)
	}
	im.context = build.NewContext(build.Loader(im.load))
	im.finder = cuemod.NewFinder(src.FS, im.list, im.open)
	return im
}

// open returns the files of another module.
func (im *importer) open(l cuemod.Location) (fs.FS, error) {
	if d, ok := im.others[l]; ok {
		return d.FS, nil
	}
	return nil, errors.New("its files are not available")
}

// root returns the module that packages are loaded from.
func (im *importer) root(m *cuemod.Module) *moduleRoot {
	if r := im.roots[m]; r != nil {
		return r
	}
	r := &moduleRoot{
		module: m, read: &recorder{FS: m.FS, maxFile: im.maxFile, files: map[string][]byte{}},
		show: im.src.Show,
	}
	name := "/"
	if !m.IsMain() {
		name = m.Location.String()
		r.prefix, r.show = name+"//", im.others[m.Location].Show
	}
	if r.show == nil {
		r.show = func(file string) string { return path.Join(name, file) }
	}
	r.config = load.Config{
		FS:          r.read,
		Env:         []string{}, // it could make the same files mean something else on another machine
		FromFSPath:  r.show,
		SkipImports: true, // the importer resolves them
		Context:     im.context,
		ParseFile: func(name string, src any, config parser.Config) (*ast.File, error) {
			if m.IsMain() && im.src.Place != nil {
				name, src = im.place(name, src)
			}
			f, err := parser.ParseFile(name, src, config)
			if f != nil {
				im.canonicalize(m, f)
			}
			return f, err
		},
	}
	im.roots[m] = r
	return r
}

// place returns the name and the text of a file such that positions in it are those of the
// YAML file that has it. The digest and the embedded files of the module don't depend on
// the result: they are made of the bytes that were read.
func (im *importer) place(name string, src any) (string, any) {
	block, ok := im.src.Place(name)
	if !ok {
		return name, src
	}
	var text []byte
	switch s := src.(type) {
	case []byte:
		text = s
	case io.Reader:
		data, err := io.ReadAll(s)
		if err != nil {
			return name, src
		}
		text = data
	default:
		return name, src
	}
	return block.File, block.Place(text)
}

// canonicalize replaces the import paths of a file by [cuemod.Package.Path]. CUE
// evaluates a package once per import path, and one path means packages of different
// versions in modules with other defaults. So a path of another module that is not
// found is replaced, too; the main module may import it.
func (im *importer) canonicalize(m *cuemod.Module, f *ast.File) {
	for spec := range f.ImportSpecs() {
		importPath, err := strconv.Unquote(spec.Path.Value)
		if err != nil || cuemod.IsStandard(importPath) || module.CheckImportPath(importPath) != nil {
			continue // the loader reports it
		}
		p, err := im.finder.Find(m, importPath)
		if err != nil && m.IsMain() {
			continue
		}
		if err != nil {
			p.Path = fmt.Sprintf("%s?%d", importPath, len(im.failed))
			im.failed[p.Path] = failedImport{importPath, err}
		}
		if p.Path != importPath {
			spec.Path.Value = strconv.Quote(p.Path)
		}
	}
}

// instances loads the package in a directory of the main module.
func (im *importer) instances(dir string) []*build.Instance {
	return im.loadFrom(im.finder.Main, dir, ".")
}

// loadFrom loads a package of a module. arg is an argument of the loader, relative to
// dir, which is slash-separated and relative to the root of the module.
func (im *importer) loadFrom(m *cuemod.Module, dir, arg string) []*build.Instance {
	config := im.root(m).config
	config.Dir = path.Join("/", dir)
	insts := load.Instances([]string{arg}, &config)
	for _, inst := range insts {
		im.modules[inst] = m
	}
	return insts
}

// load implements [build.LoadFunc]. It returns nil for packages of CUE's standard
// library, which the evaluator knows.
func (im *importer) load(pos token.Pos, importPath string) *build.Instance {
	fail := func(format string, args ...any) *build.Instance {
		inst := im.context.NewInstance("", nil)
		inst.ImportPath = importPath
		inst.Err = cueerrors.Newf(pos, format, args...)
		return inst
	}
	if f, ok := im.failed[importPath]; ok {
		return fail("cannot find package %q: %v", ast.ParseImportPath(f.path).Unqualified(), f.err)
	}
	if strings.HasPrefix(importPath, ".") {
		return fail("relative import paths not allowed (%q)", importPath)
	}
	if cuemod.IsStandard(importPath) {
		return nil
	}
	if err := module.CheckImportPath(importPath); err != nil {
		return fail("%v", err)
	}
	p, err := im.finder.Find(im.finder.Main, importPath)
	parts := ast.ParseImportPath(importPath)
	switch {
	case errors.Is(err, cuemod.ErrNoModuleFile):
		return fail("%v", err)
	case err != nil:
		return fail("cannot find package %q: %v", parts.Unqualified(), err)
	case parts.Qualifier == "":
		return fail("cannot determine package name for %q; set it explicitly with ':'", importPath)
	case parts.Qualifier == "_":
		return fail("_ is not a valid import path qualifier in %q", importPath)
	case len(im.loading) >= maxImportDepth:
		return fail("more than %d packages import each other in a chain", maxImportDepth)
	}
	if slices.ContainsFunc(im.loading, func(q cuemod.Package) bool { return q.Path == p.Path }) {
		return fail("package import cycle not allowed: %s", chain(append(im.loading, p)))
	}
	im.loading = append(im.loading, p)
	defer func() { im.loading = im.loading[:len(im.loading)-1] }()

	// Without the name of the package, the loader would take a directory such as
	// example.com for a file.
	insts := im.loadFrom(p.Module, ".", "./"+p.Dir+":"+parts.Qualifier)
	if len(insts) != 1 {
		return fail("cannot find package %q", importPath)
	}
	insts[0].ImportPath, insts[0].DisplayPath = importPath, importPath
	return insts[0]
}

// chain returns the import paths of packages for a message.
func chain(packages []cuemod.Package) string {
	var paths []string
	for _, p := range packages {
		paths = append(paths, p.Path)
	}
	return strings.Join(paths, " → ")
}
