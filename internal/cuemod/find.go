package cuemod

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/mod/modfile"
	"cuelang.org/go/mod/module"
)

// VendorDirs are the directories of vendored packages in the main module. The files
// of one package may be in all of them; CUE reads them together.
var VendorDirs = []string{"cue.mod/gen", "cue.mod/pkg", "cue.mod/usr"}

// Module is the main module or an open module of its build list.
type Module struct {
	// Location is zero for the main module.
	Location Location
	FS       fs.FS
	// File is the content of its module file. It is nil for the main module; see
	// [List.Files].
	File []byte

	// majors are the default major versions of its imports. It is nil for the main
	// module, whose defaults are those of the [List].
	majors map[string]string
}

// IsMain reports whether m is the main module.
func (m *Module) IsMain() bool { return !m.Location.Module.IsValid() }

// Package is a package that was found.
type Package struct {
	Module *Module
	// Dir is its directory in the file system of the module. For vendored packages it
	// is the one below the first of [VendorDirs], which may not exist.
	Dir string
	// Path is the import path in the form that all spellings of it have in common. It has
	// a major version only if it means another package for the main module without it.
	Path string
}

// OpenError is the error of a function that opens modules.
type OpenError struct {
	Location Location
	Err      error
}

func (e *OpenError) Error() string { return fmt.Sprintf("module %s: %v", e.Location, e.Err) }
func (e *OpenError) Unwrap() error { return e.Err }

// missingError reports that no module has a package.
type missingError struct {
	// searched are the modules that could have had it.
	searched []string
}

func (e *missingError) Error() string {
	text := "it is neither in the module, nor in cue.mod/gen, cue.mod/pkg or cue.mod/usr, nor in a module that cue.mod/module.cue lists"
	if len(e.searched) > 0 {
		text += " (" + strings.Join(e.searched, ", ") + ")"
	}
	return text + `; "cue mod tidy" adds modules from registries`
}

// Finder finds packages. It opens each module once. A Finder must not be used by several
// goroutines at the same time.
type Finder struct {
	// Main is the module whose list applies.
	Main *Module

	list *List
	open func(Location) (fs.FS, error)
	// modules are the other modules that were opened, and found the packages that were
	// found, without those that failed.
	modules map[Location]*Module
	found   map[question]Package
}

// question is an import path and the module that imports it.
type question struct {
	from *Module
	path string
}

// NewFinder returns a Finder for a main module and its list. list may be nil; then
// nothing can be imported. open returns the files of another module.
func NewFinder(main fs.FS, list *List, open func(Location) (fs.FS, error)) *Finder {
	return &Finder{Main: &Module{FS: main}, list: list, open: open, modules: map[Location]*Module{}, found: map[question]Package{}}
}

// IsStandard reports whether an import path is one of CUE's standard library.
func IsStandard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return first != "" && !strings.Contains(first, ".")
}

// Find finds the package that a module imports. The path must be valid and not one of
// the standard library. Errors of the function that opens modules are an [OpenError].
func (f *Finder) Find(from *Module, importPath string) (Package, error) {
	q := question{from, importPath}
	if p, ok := f.found[q]; ok {
		return p, nil
	}
	p, err := f.find(from, importPath)
	if err != nil {
		return Package{}, err
	}
	plain := ast.ParseImportPath(p.Path)
	plain.Version = ""
	short := plain.String()
	if from.IsMain() && importPath == short {
		p.Path = short
	} else if same, err := f.Find(f.Main, short); err == nil && same.Module == p.Module && same.Dir == p.Dir {
		p.Path = short
	}
	f.found[q] = p
	return p, nil
}

// ErrNoModuleFile is the error of all imports in a module without a module file.
var ErrNoModuleFile = errors.New("imports are unavailable because there is no cue.mod/module.cue file")

func (f *Finder) find(from *Module, importPath string) (Package, error) {
	if f.list == nil {
		return Package{}, ErrNoModuleFile
	}
	p := ast.ParseImportPath(importPath).Canonical()
	if !from.IsMain() {
		if from.Location.Content != from.Location.Module {
			p = f.list.original(p)
		}
		// The importing module's defaults win. Without one, those of the main module
		// apply, as for all packages that are no module's.
		if p.Version == "" {
			found, err := f.search(p, from.majors)
			if missing := (*missingError)(nil); !errors.As(err, &missing) {
				return found, err
			}
		}
	}
	return f.search(p, f.list.majors)
}

// search finds a package. majors are the versions of paths without one.
func (f *Finder) search(p ast.ImportPath, majors map[string]string) (Package, error) {
	var found []Package
	missing := &missingError{}
	for prefix, path := range f.candidates(p, majors) {
		m, err := f.module(path)
		if err != nil {
			return Package{}, err
		}
		if !m.IsMain() {
			missing.searched = append(missing.searched, m.Location.String())
		}
		dir := strings.TrimPrefix(strings.TrimPrefix(p.Path, prefix), "/")
		if dir == "" {
			dir = "."
		}
		switch has, err := m.hasPackage(dir); {
		case err != nil:
			return Package{}, err
		case has:
			at := p
			_, at.Version, _ = ast.SplitPackageVersion(path)
			found = append(found, Package{Module: m, Dir: dir, Path: at.String()})
		}
	}
	vendored := false
	for _, dir := range VendorDirs {
		has, err := hasCUE(f.Main.FS, path.Join(dir, p.Path))
		if err != nil {
			return Package{}, err
		}
		vendored = vendored || has
	}
	if vendored {
		at := p
		at.Version = ""
		found = append(found, Package{Module: f.Main, Dir: path.Join(VendorDirs[0], p.Path), Path: at.String()})
	}
	switch len(found) {
	case 0:
		return Package{}, missing
	case 1:
		return found[0], nil
	}
	return Package{}, fmt.Errorf("it is in both %s and %s", found[0].place(), found[1].place())
}

// place returns the directory of a package for messages.
func (p Package) place() string {
	if p.Module.IsMain() {
		return p.Dir
	}
	return path.Join(p.Module.Location.String(), p.Dir)
}

// candidates yields the modules that can have a package: the path without and with the
// major version of the main module and of each listed module whose path is the
// package's or one above it.
func (f *Finder) candidates(p ast.ImportPath, majors map[string]string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for prefix := range ancestors(p.Path) {
			major := p.Version
			if major == "" {
				major = majors[prefix]
			}
			full := prefix + "@" + major
			if _, listed := f.list.locations[full]; !listed && full != f.list.path {
				continue
			}
			if !yield(prefix, full) {
				return
			}
		}
	}
}

// Candidates returns the modules that Find opens for an import first. For most imports
// it is at most one.
func (f *Finder) Candidates(from *Module, importPath string) []Location {
	if f.list == nil {
		return nil
	}
	majors := from.majors
	if from.IsMain() {
		majors = f.list.majors
	}
	var all []Location
	for _, path := range f.candidates(ast.ParseImportPath(importPath), majors) {
		if l, other := f.list.locations[path]; other {
			all = append(all, l)
		}
	}
	return all
}

// module returns the main module or another one, which it opens if necessary.
func (f *Finder) module(path string) (*Module, error) {
	l, other := f.list.locations[path]
	if !other {
		return f.Main, nil
	}
	if m := f.modules[l]; m != nil {
		return m, nil
	}
	files, err := f.open(l)
	if err != nil {
		return nil, &OpenError{l, err}
	}
	data, err := fs.ReadFile(files, ModuleFile)
	if err != nil {
		return nil, fmt.Errorf("module %s: %w", l, err)
	}
	file, err := modfile.Parse(data, l.String()+"/"+ModuleFile)
	if err != nil {
		return nil, fmt.Errorf("module %s: %w", l, err)
	}
	want := l.Content
	if l.Dir != "" {
		want = l.Module
	}
	if got := file.QualifiedModule(); got != want.Path() {
		return nil, fmt.Errorf("module %s: its cue.mod/module.cue has the path %q, not %q", l, got, want.Path())
	}
	if err := f.list.checkTidy(l, file); err != nil {
		return nil, err
	}
	m := &Module{Location: l, FS: files, File: data, majors: defaultMajors(file)}
	f.modules[l] = m
	return m, nil
}

// checkTidy returns an error if a module requires a newer version of another one than
// the list has. Directories and other replacements of that one may have any version.
func (l *List) checkTidy(from Location, file *modfile.File) error {
	for _, need := range file.DepVersions() {
		have, listed := l.locations[need.Path()]
		if !listed || have.Content != have.Module {
			continue
		}
		if v := have.Module.Version(); (module.Versions{}).Max(v, need.Version()) != v {
			return fmt.Errorf(`cue.mod/module.cue lists %s, but %s requires %s; run "cue mod tidy"`, have.Module, from, need.Version())
		}
	}
	return nil
}

// hasPackage reports whether a directory of the module has files of CUE and is part
// of the module: on disk, a directory can have a module of its own. Modules from
// registries have none inside.
func (m *Module) hasPackage(dir string) (bool, error) {
	if m.IsMain() || m.Location.Dir != "" {
		for d := dir; d != "."; d = path.Dir(d) {
			if _, err := fs.Stat(m.FS, path.Join(d, ModuleFile)); err == nil {
				return false, nil
			}
		}
	}
	return hasCUE(m.FS, dir)
}

// hasCUE reports whether a directory exists and has files of CUE.
func hasCUE(files fs.FS, dir string) (bool, error) {
	entries, err := fs.ReadDir(files, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return strings.HasSuffix(e.Name(), ".cue") && !e.IsDir()
	}), err
}

// ancestors yields a path and all paths above it, the longest first.
func ancestors(p string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for ; p != "." && p != "/" && p != ""; p = path.Dir(p) {
			if !yield(p) {
				return
			}
		}
	}
}
