package modules

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Tree is a file system other than the disk in which modules can be, such as a git
// revision.
type Tree struct {
	// FS has the files. What fs.Sub returns for a directory of it must refuse links
	// that leave the directory, and implement fs.StatFS, fs.ReadFileFS, fs.ReadDirFS
	// and fs.ReadLinkFS.
	FS fs.FS
	// Name is the name of the root, for a module there.
	Name string
	// Show returns the name by which the user knows a file of FS.
	Show func(file string) string
}

// open opens a module of the tree. Its root is determined as on disk; see openPath.
// baseDir is relative to the root of the tree.
func (t *Tree) open(ref v1alpha1.CueRef, baseDir string) (*Files, error) {
	dir := path.Join(baseDir, ref.Ref, ref.Path)
	shown := t.Show(dir)
	if path.IsAbs(ref.Ref) {
		shown = ref.Ref
	}
	if path.IsAbs(ref.Ref) || !fs.ValidPath(dir) {
		return nil, fmt.Errorf("%s: leads out of the repository", shown)
	}
	info, err := fs.Stat(t.FS, dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown, withoutPath(err))
	}
	if !info.IsDir() {
		_, err := fs.ReadDir(t.FS, dir) // which says what it is
		return nil, fmt.Errorf("%s: %w", shown, withoutPath(err))
	}
	rootDir := t.moduleRoot(dir)
	packageDir, err := filepath.Rel(filepath.FromSlash(rootDir), filepath.FromSlash(dir))
	if err != nil {
		return nil, err
	}
	root, err := fs.Sub(t.FS, rootDir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown, withoutPath(err))
	}
	name := path.Base(dir)
	if dir == "." {
		name = t.Name
	}
	return &Files{
		FS:   boundedFS{root.(rootFS)},
		Dir:  filepath.ToSlash(packageDir),
		Name: name,
		Ref:  shown,
		show: func(file string) string { return t.Show(path.Join(rootDir, file)) },
	}, nil
}

// moduleRoot returns the nearest directory at or above dir that contains cue.mod, or
// dir if there is none.
func (t *Tree) moduleRoot(dir string) string {
	for d := dir; ; d = path.Dir(d) {
		if info, err := fs.Stat(t.FS, path.Join(d, "cue.mod")); err == nil && info.IsDir() {
			return d
		}
		if d == "." {
			return dir
		}
	}
}

// boundedFS is a file system in which files over [maxFileSize] are errors.
type boundedFS struct{ rootFS }

// ReadFile implements fs.ReadFileFS.
func (b boundedFS) ReadFile(name string) ([]byte, error) {
	info, err := b.Stat(name)
	if err != nil {
		return nil, err
	}
	if err := checkReadable(name, info); err != nil {
		return nil, err
	}
	return b.rootFS.ReadFile(name)
}
