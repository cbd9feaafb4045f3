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

// maxFile bounds one file of a module, in bytes: more is not CUE that somebody wrote.
const maxFile = 8 << 20

// openPath finds a module on disk. Its root is the nearest directory upwards
// that holds cue.mod, else the directory itself. Symbolic links are followed
// only inside the root.
func openPath(ref v1alpha1.CueRef, base string) (*Files, error) {
	shown := filepath.Join(ref.Ref, ref.Path)
	if base != "" && !filepath.IsAbs(shown) {
		shown = filepath.Join(base, shown)
	}
	dir, err := filepath.Abs(shown)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown, cause(err))
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s: not a directory", shown)
	}
	rootDir := moduleRoot(dir)
	sub, err := filepath.Rel(rootDir, dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(rootDir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown, cause(err))
	}
	// Shown names start like what the user wrote: the way from there to the
	// root is as many levels up as the package lies below it.
	showRoot := shown
	if sub != "." {
		up := strings.Repeat("../", strings.Count(filepath.ToSlash(sub), "/")+1)
		showRoot = filepath.Join(shown, filepath.FromSlash(up))
	}
	return &Files{
		FS:    boundedFS{root.FS().(rootFS)},
		Dir:   filepath.ToSlash(sub),
		Name:  filepath.Base(dir),
		Ref:   shown,
		show:  filepath.ToSlash(showRoot),
		close: root.Close,
	}, nil
}

// cause leaves out the operation and path that the message has already.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func moduleRoot(dir string) string {
	for d := dir; ; d = filepath.Dir(d) {
		if info, err := os.Stat(filepath.Join(d, "cue.mod")); err == nil && info.IsDir() {
			return d
		}
		if d == filepath.Dir(d) {
			return dir
		}
	}
}

type rootFS interface {
	fs.FS
	fs.StatFS
	fs.ReadFileFS
	fs.ReadDirFS
	fs.ReadLinkFS
}

// boundedFS refuses links that leave the root and files of absurd size, in
// words that say so.
type boundedFS struct{ rootFS }

func (b boundedFS) ReadFile(name string) ([]byte, error) {
	info, err := b.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("not a regular file")}
	}
	if info.Size() > maxFile {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("larger than %d MiB", maxFile>>20)}
	}
	data, err := b.rootFS.ReadFile(name)
	return data, b.explain(name, err)
}

func (b boundedFS) Stat(name string) (fs.FileInfo, error) {
	info, err := b.rootFS.Stat(name)
	return info, b.explain(name, err)
}

func (b boundedFS) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := b.rootFS.ReadDir(name)
	return entries, b.explain(name, err)
}

// Glob is here for the interface that the CUE loader asks for.
func (b boundedFS) Glob(pattern string) ([]string, error) { return fs.Glob(b.rootFS, pattern) }

// explain names a link that leaves the module, which os.Root only hints at.
func (b boundedFS) explain(name string, err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for p := path.Clean(name); p != "." && p != "/"; p = path.Dir(p) {
		if to, lerr := b.ReadLink(p); lerr == nil {
			return &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("link %s to %s leaves the module", p, to)}
		}
	}
	return err
}
