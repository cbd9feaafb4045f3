package render

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/load"
	"cuelang.org/go/cue/token"
	"cuelang.org/go/mod/modfile"
	"cuelang.org/go/mod/module"
)

// vendorDirs are the directories of vendored packages in a module. The files of
// one package may be in all of them; CUE reads them together.
var vendorDirs = []string{"cue.mod/gen", "cue.mod/pkg", "cue.mod/usr"}

// importer resolves imports among the files of a module: packages of the module
// itself, and vendored ones. CUE's loader does not, because it finds vendored
// packages only on disk and all others also in registries. The importer only
// determines the directory; CUE's loader reads the package in it.
type importer struct {
	config load.Config
	// modulePath is the path from cue.mod/module.cue with its major version. It is
	// zero if there is no such file.
	modulePath ast.ImportPath
	// loading are the import paths that are being loaded, the innermost last.
	loading []string
}

// newImporter returns an importer for the files of a module. show may be nil; see
// [Source].
func newImporter(files fs.FS, show func(string) string) *importer {
	im := &importer{}
	im.config = load.Config{
		FS:          files,
		Env:         []string{},
		FromFSPath:  show,
		SkipImports: true, // the importer resolves them
		Context:     build.NewContext(build.Loader(im.load)),
	}
	// CUE's loader reads this file as well, before any import, and reports its mistakes.
	const name = "cue.mod/module.cue"
	if data, err := fs.ReadFile(files, name); err == nil {
		if file, err := modfile.ParseNonStrict(data, name); err == nil {
			im.modulePath = ast.ParseImportPath(file.QualifiedModule())
		}
	}
	return im
}

// instances loads a package of the module. pkg is an argument of the loader, relative
// to dir, which is slash-separated and relative to the root.
func (im *importer) instances(dir, pkg string) []*build.Instance {
	config := im.config
	config.Dir = path.Join("/", dir)
	return load.Instances([]string{pkg}, &config)
}

// load implements [build.LoadFunc]. It returns nil for packages of CUE's standard
// library, which the evaluator knows.
func (im *importer) load(pos token.Pos, importPath string) *build.Instance {
	fail := func(format string, args ...any) *build.Instance {
		inst := im.config.Context.NewInstance("", nil)
		inst.ImportPath = importPath
		inst.Err = cueerrors.Newf(pos, format, args...)
		return inst
	}
	if strings.HasPrefix(importPath, ".") {
		return fail("relative import paths not allowed (%q)", importPath)
	}
	if first, _, _ := strings.Cut(importPath, "/"); !strings.Contains(first, ".") && first != "" {
		return nil
	}
	if err := module.CheckImportPath(importPath); err != nil {
		return fail("%v", err)
	}
	if im.modulePath.Path == "" {
		return fail("imports are unavailable because there is no cue.mod/module.cue file")
	}
	if slices.Contains(im.loading, importPath) {
		return fail("package import cycle not allowed: %s", strings.Join(append(im.loading, importPath), " → "))
	}
	im.loading = append(im.loading, importPath)
	defer func() { im.loading = im.loading[:len(im.loading)-1] }()

	p := ast.ParseImportPath(importPath)
	dir, err := im.find(p)
	switch {
	case err != nil:
		return fail("cannot find package %q: %v", p.Unqualified(), err)
	case p.Qualifier == "":
		return fail("cannot determine package name for %q; set it explicitly with ':'", importPath)
	}
	// Without the name of the package, the loader would take a directory such as
	// example.com for a file.
	insts := im.instances(".", "./"+dir+":"+p.Qualifier)
	if len(insts) != 1 {
		return fail("cannot find package %q", importPath)
	}
	insts[0].ImportPath, insts[0].DisplayPath = importPath, importPath
	return insts[0]
}

// find returns the directory of a package. Files of a vendored package can be in
// other [vendorDirs] as well; CUE's loader adds them if it is given the first one.
func (im *importer) find(p ast.ImportPath) (string, error) {
	var found []string
	if dir, ok := im.ownDir(p); ok {
		switch has, err := im.hasCUE(dir); {
		case err != nil:
			return "", err
		case has:
			found = append(found, dir)
		}
	}
	vendored := false
	for _, vendor := range vendorDirs {
		has, err := im.hasCUE(path.Join(vendor, p.Path))
		if err != nil {
			return "", err
		}
		vendored = vendored || has
	}
	if vendored {
		found = append(found, path.Join(vendorDirs[0], p.Path))
	}
	switch len(found) {
	case 0:
		return "", errors.New("it is neither in the module nor in cue.mod/gen, cue.mod/pkg or cue.mod/usr; modules from registries are not supported")
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("it is in both %s and %s", found[0], found[1])
}

// ownDir returns the directory of a package of the module itself, and false if
// the path is not one of the module.
func (im *importer) ownDir(p ast.ImportPath) (string, bool) {
	if p.Version != "" && p.Version != im.modulePath.Version {
		return "", false
	}
	if p.Path == im.modulePath.Path {
		return ".", true
	}
	dir, ok := strings.CutPrefix(p.Path, im.modulePath.Path+"/")
	if !ok {
		return "", false
	}
	// A directory with a module of its own is not part of this one.
	for d := dir; d != "."; d = path.Dir(d) {
		if _, err := fs.Stat(im.config.FS, path.Join(d, "cue.mod/module.cue")); err == nil {
			return "", false
		}
	}
	return dir, true
}

// hasCUE reports whether a directory exists and has files of CUE.
func (im *importer) hasCUE(dir string) (bool, error) {
	entries, err := fs.ReadDir(im.config.FS, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return strings.HasSuffix(e.Name(), ".cue") && !e.IsDir()
	}), err
}
