package gitfs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// The modes of links and submodules, as git writes them.
const (
	linkMode      = "120000"
	submoduleMode = "160000"
)

// Copy is a directory with files of a commit, for readers that need a directory. Symbolic links are in it from the
// beginning, so that every path leads to the same place as in a checkout, and submodules are left out.
// Other files are written when [Copy.Fill] asks for them, with the bytes that are committed. No file is
// written outside of the directory, whatever names the commit has.
//
// Git runs twice, however many files there are. Any number of goroutines may use a Copy.
type Copy struct {
	// Submodules are the paths of the commit's submodules.
	Submodules []string

	entries []Entry           // all files and links, sorted by their paths, which are their names
	links   map[string]string // the targets of links by their paths

	mu    sync.Mutex // guards the fields below
	blobs *batch
	root  *os.Root
	// made has the directories and files that exist.
	made map[string]bool
}

// NewCopy starts a copy of a commit of the repository of the working directory in dir, which must be empty. The
// caller must call Close. When ctx is done, nothing can be written anymore.
func NewCopy(ctx context.Context, commit, dir string) (*Copy, error) {
	out, err := Git(ctx, "", "ls-tree", "-r", "-z", "--full-tree", commit)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	c := &Copy{root: root, blobs: newBatch(ctx), links: map[string]string{}, made: map[string]bool{".": true}}
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		// MODE SP TYPE SP OBJECT TAB PATH
		fields, name, _ := strings.Cut(line, "\t")
		f := strings.Fields(fields)
		switch {
		case len(f) != 3: // an empty tree
		case f[0] == submoduleMode:
			c.Submodules = append(c.Submodules, name)
		default:
			c.entries = append(c.entries, Entry{Name: name, Mode: f[0], Object: f[2]})
		}
	}
	slices.SortFunc(c.entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	// A process that is confined later may be unable to start git.
	err = c.blobs.start()
	for i, e := range c.entries {
		// Only tools of strangers make trees with such names.
		if err == nil && (!fs.ValidPath(e.Name) || strings.HasPrefix(e.Name+"/", ".git/")) {
			err = &fs.PathError{Op: "open", Path: e.Name, Err: fs.ErrInvalid}
		}
		if err == nil && i > 0 && e.Name == c.entries[i-1].Name {
			err = &fs.PathError{Op: "open", Path: e.Name, Err: fs.ErrExist}
		}
		if err == nil && e.Mode == linkMode {
			err = c.link(e)
		}
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Close ends git. It removes nothing.
func (c *Copy) Close() {
	c.blobs.close()
	c.root.Close() // files are closed already
}

// link writes a symbolic link.
func (c *Copy) link(e Entry) error {
	target, err := c.blobs.blob(e.Object)
	if err == nil {
		err = c.enter(path.Dir(e.Name))
	}
	if err != nil {
		return err
	}
	c.links[e.Name] = string(target)
	return c.root.Symlink(string(target), filepath.FromSlash(e.Name))
}

// Has reports whether the commit has a file, a link or a directory. Links in the path are followed, but
// not the last one.
func (c *Copy) Has(name string) bool {
	dir, ok := c.resolve(path.Dir(name))
	if !ok || name == "." {
		return ok
	}
	at := path.Join(dir, path.Base(name))
	_, isFile := c.file(at)
	return isFile || len(c.below(at)) > 0
}

// Fill writes a file, or the files in a directory that want selects by their paths in it, with slashes. It makes
// the directory and its subdirectories, so that it can be listed. A link stands for the file that it leads to.
// What the commit lacks is left out.
func (c *Copy) Fill(name string, want func(file string) bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.resolve(name)
	if !ok {
		return nil
	}
	if e, ok := c.file(at); ok {
		return c.write(e)
	}
	below := c.below(at)
	if len(below) == 0 {
		return nil
	}
	if err := c.enter(at); err != nil {
		return err
	}
	for _, e := range below {
		rel := e.Name
		if at != "." {
			rel = rel[len(at)+1:]
		}
		if sub, _, nested := strings.Cut(rel, "/"); nested {
			if err := c.enter(path.Join(at, sub)); err != nil {
				return err
			}
		}
		if want(rel) {
			if err := c.follow(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// follow writes a file, or what a link leads to: a file, or a directory without its files.
func (c *Copy) follow(e Entry) error {
	if e.Mode != linkMode {
		return c.write(e)
	}
	at, ok := c.resolve(e.Name)
	if !ok {
		return nil
	}
	if e, ok := c.file(at); ok {
		return c.write(e)
	}
	if len(c.below(at)) == 0 {
		return nil
	}
	return c.enter(at)
}

// resolve returns the path that a path leads to with all links followed, "." for the root. It returns false
// if a link leads out of the commit, or in a circle.
func (c *Copy) resolve(name string) (string, bool) {
	var at []string
	links := 0
	for todo := strings.Split(name, "/"); len(todo) > 0; {
		elem := todo[0]
		todo = todo[1:]
		switch {
		case elem == "" || elem == ".":
			continue
		case elem == ".." && len(at) == 0:
			return "", false
		case elem == "..":
			at = at[:len(at)-1]
			continue
		}
		at = append(at, elem)
		target, ok := c.links[path.Join(at...)]
		if !ok {
			continue
		}
		if links++; links > maxLinks || path.IsAbs(target) {
			return "", false
		}
		at = at[:len(at)-1]
		todo = append(strings.Split(target, "/"), todo...)
	}
	return path.Clean(path.Join(at...)), true
}

// file returns the file or link with a path.
func (c *Copy) file(name string) (Entry, bool) {
	i, ok := c.search(name)
	if !ok {
		return Entry{}, false
	}
	return c.entries[i], true
}

// below returns the files and links in a directory and in those below it.
func (c *Copy) below(dir string) []Entry {
	if dir == "." {
		return c.entries
	}
	first, _ := c.search(dir + "/")
	last, _ := c.search(dir + "0") // the character after the slash
	return c.entries[first:last]
}

// search returns the first entry that is not before name, and whether it has that name.
func (c *Copy) search(name string) (int, bool) {
	return slices.BinarySearchFunc(c.entries, name, func(e Entry, name string) int { return strings.Compare(e.Name, name) })
}

// enter makes a directory and those above it. One that is a link or a file there is an error.
func (c *Copy) enter(dir string) error {
	if c.made[dir] {
		return nil
	}
	if err := c.enter(path.Dir(dir)); err != nil {
		return err
	}
	name := filepath.FromSlash(dir)
	if err := c.root.Mkdir(name, 0o700); err != nil {
		if info, statErr := c.root.Lstat(name); statErr != nil || !info.IsDir() {
			return err
		}
	}
	c.made[dir] = true
	return nil
}

// write writes a file.
func (c *Copy) write(e Entry) error {
	if c.made[e.Name] {
		return nil
	}
	if err := c.enter(path.Dir(e.Name)); err != nil {
		return err
	}
	f, err := c.root.OpenFile(filepath.FromSlash(e.Name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = c.blobs.read(e.Object, func(content io.Reader, _ int64) error {
		_, err := io.Copy(f, content)
		return err
	})
	c.made[e.Name] = err == nil
	return errors.Join(err, f.Close())
}
