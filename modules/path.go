package modules

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// maxFileSize is the size limit for one file of a module, in bytes. Hand-written
// CUE is far smaller; the limit keeps a wrong path from filling the memory.
const maxFileSize = 8 << 20

// openPath opens a module on disk. The module's root is the nearest directory
// at or above the package's directory that contains cue.mod; without a cue.mod
// it is the package's directory. Symbolic links are followed only if they stay
// inside the root.
func openPath(ref v1alpha1.CueRef, baseDir string, fill filling) (*Files, error) {
	shown := filepath.Join(ref.Ref, ref.Path)
	if baseDir != "" && !filepath.IsAbs(shown) {
		shown = filepath.Join(baseDir, shown)
	}
	dir, err := filepath.Abs(shown)
	if err != nil {
		return nil, err
	}
	if err := fill.path(dir); err != nil {
		return nil, err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown, withoutPath(err))
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s: not a directory", shown)
	}
	rootDir := Root(dir)
	packageDir, err := filepath.Rel(rootDir, dir)
	if err != nil {
		return nil, err
	}
	// Opening the root here reports missing permissions once and for the
	// directory, rather than for the first file that is read.
	root, err := os.OpenRoot(rootDir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown, withoutPath(err))
	}
	if err := root.Close(); err != nil {
		return nil, err
	}
	// Shown names start with the text that the user wrote. The root is as many
	// levels above it as packageDir has elements.
	display := shown
	if packageDir != "." {
		up := strings.Repeat("../", strings.Count(filepath.ToSlash(packageDir), "/")+1)
		display = filepath.Join(shown, filepath.FromSlash(up))
	}
	return &Files{
		FS:      moduleFS{rootDir, fill},
		Dir:     filepath.ToSlash(packageDir),
		Name:    filepath.Base(dir),
		Ref:     shown,
		display: filepath.ToSlash(display),
		rootDir: rootDir,
	}, nil
}

// withoutPath returns the cause of a *fs.PathError, for messages that already
// name the file.
func withoutPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Root returns the nearest directory at or above dir that contains
// cue.mod, or dir if there is none.
func Root(dir string) string {
	for d := dir; ; d = filepath.Dir(d) {
		if info, err := os.Stat(filepath.Join(d, "cue.mod")); err == nil && info.IsDir() {
			return d
		}
		if d == filepath.Dir(d) {
			return dir
		}
	}
}

// moduleFS is the file system below dir. It opens dir for every operation
// rather than keeping a descriptor, so that a module needs no Close. Links that
// leave dir and files over [maxFileSize] are errors.
type moduleFS struct {
	dir  string
	fill filling
}

// filling is [Options.Fill].
type filling func(path string) error

// path calls the function, unless it is nil.
func (f filling) path(name string) error {
	if f == nil {
		return nil
	}
	return f(name)
}

// rootFS is the file system of an os.Root.
type rootFS interface {
	fs.FS
	fs.StatFS
	fs.ReadFileFS
	fs.ReadDirFS
	fs.ReadLinkFS
}

// within calls use with the file system of an os.Root for m, in which name can be read, and closes the root.
func within[T any](m moduleFS, name string, use func(rootFS) (T, error)) (T, error) {
	var none T
	if err := m.fill.path(filepath.Join(m.dir, filepath.FromSlash(name))); err != nil {
		return none, err
	}
	root, err := os.OpenRoot(m.dir)
	if err != nil {
		return none, err
	}
	defer root.Close() // it is only used for reading
	return use(root.FS().(rootFS))
}

// Open implements fs.FS. The file stays valid until the caller closes it.
func (m moduleFS) Open(name string) (fs.File, error) {
	return within(m, name, func(files rootFS) (fs.File, error) { return files.Open(name) })
}

// ReadFile implements fs.ReadFileFS.
func (m moduleFS) ReadFile(name string) ([]byte, error) {
	return within(m, name, func(files rootFS) ([]byte, error) {
		info, err := files.Stat(name)
		if err != nil {
			return nil, nameEscapingLink(files, name, err)
		}
		if err := checkReadable(name, info); err != nil {
			return nil, err
		}
		data, err := files.ReadFile(name)
		return data, nameEscapingLink(files, name, err)
	})
}

// checkReadable returns an error unless the file is regular and not too large.
func checkReadable(name string, info fs.FileInfo) error {
	switch {
	case !info.Mode().IsRegular():
		return &fs.PathError{Op: "read", Path: name, Err: errors.New("not a regular file")}
	case info.Size() > maxFileSize:
		return &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("larger than %d MiB", maxFileSize>>20)}
	}
	return nil
}

// Stat implements fs.StatFS.
func (m moduleFS) Stat(name string) (fs.FileInfo, error) {
	return within(m, name, func(files rootFS) (fs.FileInfo, error) {
		info, err := files.Stat(name)
		return info, nameEscapingLink(files, name, err)
	})
}

// ReadDir implements fs.ReadDirFS.
func (m moduleFS) ReadDir(name string) ([]fs.DirEntry, error) {
	return within(m, name, func(files rootFS) ([]fs.DirEntry, error) {
		entries, err := files.ReadDir(name)
		return entries, nameEscapingLink(files, name, err)
	})
}

// Lstat implements fs.ReadLinkFS.
func (m moduleFS) Lstat(name string) (fs.FileInfo, error) {
	return within(m, name, func(files rootFS) (fs.FileInfo, error) { return files.Lstat(name) })
}

// ReadLink implements fs.ReadLinkFS.
func (m moduleFS) ReadLink(name string) (string, error) {
	return within(m, name, func(files rootFS) (string, error) { return files.ReadLink(name) })
}

// Glob implements fs.GlobFS, which CUE's loader requires.
func (m moduleFS) Glob(pattern string) ([]string, error) {
	return fs.Glob(struct{ rootFS }{m}, pattern) // without this method
}

// nameEscapingLink returns an error that names the symbolic link in name that
// leaves the root, because the error of os.Root does not name it. It returns err
// unchanged if it is nil, if the file does not exist, or if name has no link.
func nameEscapingLink(files rootFS, name string, err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for p := path.Clean(name); p != "." && p != "/"; p = path.Dir(p) {
		if target, linkErr := files.ReadLink(p); linkErr == nil {
			return &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("link %s to %s leaves the module", p, target)}
		}
	}
	return err
}
