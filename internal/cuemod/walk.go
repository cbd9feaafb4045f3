package cuemod

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"
	"golang.org/x/sync/errgroup"
)

const (
	// maxPackages is the limit of packages that a walk visits. All types of Kubernetes
	// are some hundred packages.
	maxPackages = 10_000
	// parallel is the number of modules that a walk opens at the same time.
	parallel = 8
)

// Resolved is a build list with the open modules that a package needs.
type Resolved struct {
	List    *List
	Modules map[Location]Files
}

// Files are the files of another module than the main one.
type Files struct {
	// FS is a file system whose root is the root of the module.
	FS fs.FS
	// Show returns the name by which the user knows a file of FS. If it is nil, files
	// have names such as example.com/k8s@v1.2.0/apps/v1/types.cue.
	Show func(file string) string
	// Digest is the digest of the manifest of a published module, or "".
	Digest string
}

// Walk opens the modules of all packages that the package in dir imports, directly or
// not, and returns their files. Modules that the list has but no package imports are
// not opened. Open is called once for a module, by several goroutines.
//
// Walk parses nothing but the imports of files. Imports that are not found, and files
// that can't be read, are left to the loader, which knows their positions: the only
// errors are those of open and of ctx.
func Walk(ctx context.Context, main fs.FS, list *List, dir string, open func(context.Context, Location) (Files, error)) (map[Location]Files, error) {
	w := &walk{opened: map[Location]Files{}, files: map[fileKey]importingFile{}, open: open}
	if list.IsEmpty() {
		return w.opened, nil
	}
	w.finder = NewFinder(main, list, func(l Location) (fs.FS, error) {
		f, err := w.get(ctx, l)
		return f.FS, err
	})
	if _, err := w.packages(dir, func(level []importer) error { return w.prefetch(ctx, level) }); err != nil {
		return nil, err
	}
	return w.opened, ctx.Err()
}

// packages visits the package in dir and all packages that it imports, and returns the number
// of those. It calls prefetch before it looks for the imports of a level.
func (w *walk) packages(dir string, prefetch func([]importer) error) (int, error) {
	visited := map[string]bool{}
	level := []importer{{w.finder.Main, w.imports(w.finder.Main, dir, "")}}
	for len(level) > 0 && len(visited) < maxPackages {
		if err := prefetch(level); err != nil {
			return 0, err
		}
		var next []importer
		for _, i := range level {
			for _, importPath := range i.paths {
				p, err := w.finder.Find(i.module, importPath)
				if failed := (*OpenError)(nil); errors.As(err, &failed) && w.open != nil {
					return 0, failed
				}
				if err != nil || visited[p.Path] {
					continue
				}
				visited[p.Path] = true
				pkg := ast.ParseImportPath(p.Path).Qualifier
				next = append(next, importer{p.Module, w.packageImports(p, pkg)})
			}
		}
		level = next
	}
	return len(visited), nil
}

// importer is a package with its imports from other packages than those of the
// standard library.
type importer struct {
	module *Module
	paths  []string
}

// walk is the state of one call of [Walk] or [Reach].
type walk struct {
	finder *Finder
	// open opens modules for Walk. It is nil for Reach.
	open  func(context.Context, Location) (Files, error)
	files map[fileKey]importingFile
	// dirs are the directories that were read, by module. It is nil for Walk.
	dirs map[Location]map[string]bool

	mu     sync.Mutex // guards opened
	opened map[Location]Files
}

// fileKey identifies a file, and importingFile is the part of it that a walk needs.
type fileKey struct {
	module *Module
	name   string
}

type importingFile struct {
	pkg     string
	imports []string
}

// prefetch opens the modules that the packages of a level probably import, in parallel.
// Modules that only the rare rules of [Finder.Find] name are opened one by one later.
func (w *walk) prefetch(ctx context.Context, level []importer) error {
	wanted := map[Location]bool{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, i := range level {
		for _, importPath := range i.paths {
			for _, l := range w.finder.Candidates(i.module, importPath) {
				if wanted[l] {
					continue
				}
				wanted[l] = true
				group.Go(func() error {
					if _, err := w.get(ctx, l); err != nil {
						return &OpenError{l, err}
					}
					return nil
				})
			}
		}
	}
	return group.Wait()
}

// get opens a module unless it is open.
func (w *walk) get(ctx context.Context, l Location) (Files, error) {
	w.mu.Lock()
	files, ok := w.opened[l]
	w.mu.Unlock()
	if ok {
		return files, nil
	}
	files, err := w.open(ctx, l)
	if err != nil {
		return Files{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.opened[l] = files
	return files, nil
}

// packageImports returns the imports of a package that was found.
func (w *walk) packageImports(p Package, pkg string) []string {
	rest, vendored := strings.CutPrefix(p.Dir, VendorDirs[0]+"/")
	if !p.Module.IsMain() || !vendored {
		return w.imports(p.Module, p.Dir, pkg)
	}
	var all []string
	for _, dir := range VendorDirs {
		all = append(all, w.imports(p.Module, path.Join(dir, rest), pkg)...)
	}
	return all
}

// imports returns the imports of the files of a package in a directory. The files of the
// package in the directories above it, up to the root of the module, belong to it, too.
// If pkg is "", imports returns those of all packages in the directory.
func (w *walk) imports(m *Module, dir, pkg string) []string {
	var all []string
	packages := []string{pkg}
	for d := path.Clean(dir); ; d = path.Dir(d) {
		entries, err := fs.ReadDir(m.FS, d)
		if err != nil && d == path.Clean(dir) {
			return nil // the loader reports it
		}
		if w.dirs != nil {
			if w.dirs[m.Location] == nil {
				w.dirs[m.Location] = map[string]bool{}
			}
			w.dirs[m.Location][d] = true
		}
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), ".cue") || strings.HasSuffix(e.Name(), "_tool.cue") || strings.HasSuffix(e.Name(), "_test.cue") {
				continue
			}
			f := w.file(m, path.Join(d, e.Name()))
			if pkg == "" && d == path.Clean(dir) {
				packages = append(packages, f.pkg)
			}
			if slices.Contains(packages, f.pkg) {
				all = append(all, f.imports...)
			}
		}
		if d == "." || slices.Contains(VendorDirs, d) {
			return all
		}
	}
}

// file reads and parses a file up to the end of its imports. A file that is wrong has
// those that were found before the mistake.
func (w *walk) file(m *Module, name string) importingFile {
	key := fileKey{m, name}
	if f, ok := w.files[key]; ok {
		return f
	}
	var f importingFile
	if data, err := fs.ReadFile(m.FS, name); err == nil {
		if syntax, _ := parser.ParseFile(name, data, parser.ImportsOnly); syntax != nil {
			f.pkg = syntax.PackageName()
			for spec := range syntax.ImportSpecs() {
				if p, err := strconv.Unquote(spec.Path.Value); err == nil && !IsStandard(p) && p != "" {
					f.imports = append(f.imports, p)
				}
			}
		}
	}
	w.files[key] = f
	return f
}
