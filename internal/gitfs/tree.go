package gitfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Objects reads the objects of a git repository. Any number of goroutines may use it.
type Objects interface {
	// Entries returns the entries of the tree with the given object name, in any order.
	Entries(tree string) ([]Entry, error)
	// Blob returns the content of a file, or the target of a symbolic link.
	Blob(object string) ([]byte, error)
}

// Entry is an entry of a tree.
type Entry struct {
	Name string
	// Mode is the mode as git writes it, with six octal digits.
	Mode string
	// Size is the size of a file, in bytes.
	Size   int64
	Object string
}

// New returns the tree with the given object name as a file system. shown returns the
// user's name for a file, for errors.
func New(objects Objects, tree string, shown func(name string) string) *Tree {
	return &Tree{objects: objects, shown: shown, object: tree, listed: map[string][]file{}}
}

// errSubmodule is the error about a file in a submodule.
var errSubmodule = errors.New("a submodule, whose files are not part of this repository; refer to the repository of the submodule itself")

// maxLinks is the limit for symbolic links in the resolution of one name, as in
// Linux.
const maxLinks = 40

// Tree is a directory of a revision as a file system. Symbolic links are followed if
// they stay in it; others are errors. Directories and files are read when they are
// needed, so that a small directory of a large repository is read quickly. The
// contents of directories are kept. Any number of goroutines may use it.
//
// Submodules are irregular files without contents.
type Tree struct {
	objects Objects
	// shown returns the user's name for a file, which errors have.
	shown func(name string) string
	// object is the name of the git object of the directory.
	object string

	mu sync.Mutex // guards listed
	// listed has the entries of directories by the names of their git objects.
	listed map[string][]file
}

// file is a file or directory of a tree. It implements fs.FileInfo and fs.DirEntry.
type file struct {
	name   string
	mode   fs.FileMode
	size   int64
	object string
}

func (f file) Name() string               { return f.name }
func (f file) Size() int64                { return f.size }
func (f file) Mode() fs.FileMode          { return f.mode }
func (f file) ModTime() time.Time         { return time.Time{} }
func (f file) IsDir() bool                { return f.mode.IsDir() }
func (f file) Sys() any                   { return nil }
func (f file) Type() fs.FileMode          { return f.mode.Type() }
func (f file) Info() (fs.FileInfo, error) { return f, nil }

// modes maps the modes of git to those of io/fs. 160000 is a submodule.
var modes = map[string]fs.FileMode{
	"040000": fs.ModeDir | 0o755,
	"100644": 0o644,
	"100664": 0o644, // in very old repositories
	"100755": 0o755,
	"120000": fs.ModeSymlink | 0o777,
	"160000": fs.ModeIrregular,
}

// list returns the entries of a directory, sorted by name.
func (t *Tree) list(dir file) ([]file, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if entries, ok := t.listed[dir.object]; ok {
		return entries, nil
	}
	all, err := t.objects.Entries(dir.object)
	if err != nil {
		return nil, err
	}
	var entries []file
	for _, e := range all {
		// Other names are possible in a repository that others made with their own tools.
		if e.Name == "" || e.Name == "." || e.Name == ".." || strings.Contains(e.Name, "/") {
			continue
		}
		entries = append(entries, file{e.Name, modes[e.Mode], e.Size, e.Object})
	}
	slices.SortFunc(entries, func(a, b file) int { return strings.Compare(a.name, b.name) })
	t.listed[dir.object] = entries
	return entries, nil
}

// find returns a file. follow resolves the name if it is a symbolic link itself;
// links in its directories are always resolved. Errors are those of the operation op;
// that of a file that doesn't exist has the text of files on disk.
func (t *Tree) find(op, name string, follow bool) (file, error) {
	fail := func(err error) (file, error) { return file{}, t.failed(op, name, err) }
	if !fs.ValidPath(name) {
		return fail(fs.ErrInvalid)
	}
	at := []file{t.root()} // from the root to the last directory
	var link error         // for a name that leaves the tree, which only links can do
	links := 0
	for elems := strings.Split(name, "/"); len(elems) > 0; {
		elem, dir := elems[0], at[len(at)-1]
		elems = elems[1:]
		switch {
		case dir.mode == fs.ModeIrregular:
			return fail(errSubmodule)
		case !dir.IsDir():
			return fail(syscall.ENOENT)
		case elem == "" || elem == ".":
			continue
		case elem == ".." && len(at) == 1:
			return fail(link)
		case elem == "..":
			at = at[:len(at)-1]
			continue
		}
		entries, err := t.list(dir)
		if err != nil {
			return fail(err)
		}
		i, ok := slices.BinarySearchFunc(entries, elem, func(f file, name string) int { return strings.Compare(f.name, name) })
		if !ok {
			return fail(syscall.ENOENT)
		}
		at = append(at, entries[i])
		if at[len(at)-1].Type() != fs.ModeSymlink || (!follow && len(elems) == 0) {
			continue
		}
		target, err := t.content(entries[i])
		if err != nil {
			return fail(err)
		}
		link = fmt.Errorf("link %s to %s leaves the directory", pathOf(at), target)
		if links++; links > maxLinks {
			return fail(errors.New("too many links"))
		}
		if path.IsAbs(string(target)) {
			return fail(link)
		}
		at = at[:len(at)-1]
		elems = append(strings.Split(string(target), "/"), elems...)
	}
	return at[len(at)-1], nil
}

// failed returns the error of an operation on a file.
func (t *Tree) failed(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: t.shown(name), Err: err}
}

// pathOf returns the path of the last file, given all directories above it.
func pathOf(at []file) string {
	var names []string
	for _, f := range at {
		names = append(names, f.name)
	}
	return path.Join(names...)
}

// root returns the directory itself.
func (t *Tree) root() file {
	return file{name: ".", mode: fs.ModeDir | 0o755, object: t.object}
}

// content reads a file or the target of a link.
func (t *Tree) content(f file) ([]byte, error) {
	return t.objects.Blob(f.object)
}
