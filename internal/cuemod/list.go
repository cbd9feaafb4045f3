package cuemod

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/mod/modfile"
	"cuelang.org/go/mod/module"
)

// The files of a module that describe it. The second one is optional. It is for
// development, and modules in registries never have it.
const (
	ModuleFile = "cue.mod/module.cue"
	LocalFile  = "cue.mod/local-module.cue"
)

// maxModules is the length limit of a build list. Real lists have fewer than 50; the
// limit bounds what a hostile module makes its users fetch.
const maxModules = 1000

// List is the build list of a main module. It is immutable.
type List struct {
	// path is the main module's path with its major version.
	path string
	// locations are the other modules, by path with major version.
	locations map[string]Location
	// majors are the major versions that imports without one mean, by path without
	// major version. The value is "" if the path has several and no default.
	majors map[string]string
	// originals maps the paths of modules that replace others to the paths of those,
	// both without major versions.
	originals map[string]string
	// files are the files that the list was read from, by name.
	files map[string][]byte
}

// Location is a module of a build list and the place where its files are.
type Location struct {
	// Module is the module in the build list. It has no version if LocalFile replaces
	// the module and states none.
	Module module.Version
	// Content is the module whose files are used. It differs from Module if LocalFile
	// replaces the module by another one. It is zero if Dir is set.
	Content module.Version
	// Dir is the directory that replaces the module, as in LocalFile: relative
	// directories start at the root of the main module. It is "" for other modules.
	Dir string
}

// String returns the name of the module for messages, such as example.com/k8s@v1.2.0.
// A module that a directory replaces has no version; its name is example.com/k8s@v1.
// The files of a module have the same name on every machine.
func (l Location) String() string {
	if l.Dir != "" {
		return l.Module.Path()
	}
	return l.Content.String()
}

// LocalError is an error in LocalFile.
type LocalError struct{ Err error }

func (e *LocalError) Error() string { return e.Err.Error() }
func (e *LocalError) Unwrap() error { return e.Err }

// Read reads the build list of the module in files. It returns nil if there is no
// module file. If local is true, replacements in LocalFile apply; a published module
// must be read without them. Its errors are a [LocalError] or about the module file.
func Read(files fs.FS, local bool) (*List, error) {
	data, err := fs.ReadFile(files, ModuleFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	file, err := modfile.ParseNonStrict(data, ModuleFile)
	if err != nil {
		return nil, err
	}
	for path, dep := range file.Deps {
		if dep.ReplaceWith != "" {
			return nil, fmt.Errorf("%s: the replacement of %s must be in %s", ModuleFile, path, LocalFile)
		}
	}
	l := &List{files: map[string][]byte{ModuleFile: data}}
	if local {
		switch data, err := fs.ReadFile(files, LocalFile); {
		case err == nil:
			if file, err = modfile.ParseLocal(data, LocalFile, file); err != nil {
				return nil, &LocalError{err}
			}
			l.files[LocalFile] = data
		case !errors.Is(err, fs.ErrNotExist):
			return nil, &LocalError{err}
		}
	}
	if len(file.Deps) > maxModules {
		return nil, fmt.Errorf("%s: has %d dependencies; at most %d are supported", ModuleFile, len(file.Deps), maxModules)
	}
	return l, l.fill(file)
}

// fill sets all fields but files from a module file.
func (l *List) fill(file *modfile.File) error {
	l.path = file.QualifiedModule()
	l.locations, l.originals = map[string]Location{}, map[string]string{}
	l.majors = defaultMajors(file)
	replacements := map[string]string{}
	for path, dep := range file.Deps {
		v, err := module.NewVersion(path, dep.Version)
		if err != nil {
			return err
		}
		replacements[v.Path()] = dep.ReplaceWith
	}
	for _, v := range file.DepVersions() {
		location := Location{Module: v, Content: v}
		if with := replacements[v.Path()]; with != "" {
			var err error
			if location, err = replaced(v, with, file); err != nil {
				return &LocalError{fmt.Errorf("%s: replacement of %s: %w", LocalFile, v.Path(), err)}
			}
			if location.Dir == "" {
				l.originals[location.Content.BasePath()] = v.BasePath()
			}
		}
		l.locations[v.Path()] = location
	}
	return nil
}

// defaultMajors returns the default major versions of modules: those that a module
// file declares, and those of all modules that it lists in only one major version.
// The value is "" for modules with several.
func defaultMajors(file *modfile.File) map[string]string {
	majors := map[string]string{}
	for _, v := range file.DepVersions() {
		major, _, _ := strings.Cut(v.Version(), ".")
		if other, several := majors[v.BasePath()]; several && other != major {
			major = ""
		}
		majors[v.BasePath()] = major
	}
	for base, major := range file.DefaultMajorVersions() {
		majors[base] = major
	}
	return majors
}

// replaced returns the location of a module that LocalFile replaces. with is a
// directory, a module with a version, or a module whose version is in file.
func replaced(v module.Version, with string, file *modfile.File) (Location, error) {
	if strings.HasPrefix(with, ".") || strings.HasPrefix(with, "/") || isWindowsPath(with) {
		return Location{Module: v, Dir: with}, nil
	}
	base, version, _ := ast.SplitPackageVersion(with)
	major, _, full := strings.Cut(version, ".")
	if major == "" {
		major = file.DefaultMajorVersions()[base]
	}
	if major == "" {
		return Location{}, fmt.Errorf("%q has no major version", with)
	}
	// The version in the list wins: it is the one that "cue mod tidy" selected.
	path := base + "@" + major
	if dep := file.Deps[path]; dep != nil && dep.Version != "" {
		version, full = dep.Version, true
	}
	if !full {
		return Location{}, fmt.Errorf("%s must be listed with its version", path)
	}
	content, err := module.NewVersion(path, version)
	return Location{Module: v, Content: content}, err
}

// isWindowsPath reports whether s begins with a drive or is a path of a share.
func isWindowsPath(s string) bool {
	return len(s) > 1 && s[1] == ':' || strings.HasPrefix(s, `\\`)
}

// Files returns the contents of the files that the list was read from, by name.
func (l *List) Files() map[string][]byte { return l.files }

// IsLocal reports whether the list has the replacements of LocalFile.
func (l *List) IsLocal() bool { return l.files[LocalFile] != nil }

// Locations returns the other modules, in no particular order.
func (l *List) Locations() []Location { return slices.Collect(maps.Values(l.locations)) }

// IsEmpty reports whether the list has no other modules.
func (l *List) IsEmpty() bool { return l == nil || len(l.locations) == 0 }

// original returns an import path in which the path of a module that replaces another
// one is replaced by the path of that one. A module that replaces another uses it for
// imports of its own packages, so that all modules see the same packages.
func (l *List) original(p ast.ImportPath) ast.ImportPath {
	for prefix := range ancestors(p.Path) {
		if base, ok := l.originals[prefix]; ok {
			p.Path = base + p.Path[len(prefix):]
			return p
		}
	}
	return p
}
