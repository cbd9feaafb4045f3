package sides

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/pequod-io/pequod/internal/gitfs"
	"github.com/pequod-io/pequod/internal/problem"
)

// Checkout has files of a commit in a temporary directory: those that are read. The zero Checkout stands
// for the files of the working directory.
type Checkout struct {
	// Name is the short name of the commit, which positions of its files begin with.
	Name string
	// Commit is the full name of the commit.
	Commit string

	// submodules are the paths of submodules, as Relative returns them. The checkout lacks
	// their files.
	submodules []string

	place gitfs.Place
	// dir is the temporary directory, and wd the working directory. Both are without links.
	dir, wd string
	commit  *gitfs.Copy // which writes to dir
	// replace turns paths in dir into names for messages.
	replace *strings.Replacer

	mu     sync.Mutex // guards the fields below
	filled map[string]bool
	failed error
}

// shortName is the number of digits of a commit in messages.
const shortName = 10

// Open prepares a temporary directory for the files of a commit. The caller must call Close.
func Open(ctx context.Context, commit string) (*Checkout, error) {
	place, err := gitfs.Locate(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pequod-review-")
	if err != nil {
		return nil, err
	}
	c := &Checkout{Name: commit[:min(shortName, len(commit))], Commit: commit, place: place, dir: dir, filled: map[string]bool{}}
	if err := c.open(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// open writes what settings are read from, and a mark that ends the search for them at the root.
func (c *Checkout) open(ctx context.Context) error {
	dir, err := filepath.EvalSymlinks(c.dir)
	if err != nil {
		return err
	}
	c.dir = dir
	if c.wd, err = os.Getwd(); err == nil {
		c.wd, err = filepath.EvalSymlinks(c.wd)
	}
	if err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o700); err != nil {
		return err
	}
	if c.commit, err = gitfs.NewCopy(ctx, c.Commit, dir); err != nil {
		return err
	}
	var pairs []string
	for _, root := range c.spellings() {
		pairs = append(pairs, filepath.ToSlash(root)+"/", c.Name+":")
	}
	c.replace = strings.NewReplacer(pairs...)
	if c.commit.Has(".gitmodules") {
		for _, path := range c.commit.Submodules {
			c.submodules = append(c.submodules, c.Relative(filepath.Join(dir, filepath.FromSlash(path))))
		}
	}
	c.fillSettings()
	return c.Err()
}

// spellings returns the ways in which messages may spell the directory of the checkout that
// stands for the working directory, and then its root: absolute, and relative to the working
// directory.
func (c *Checkout) spellings() []string {
	var all []string
	for _, dir := range []string{filepath.Join(c.dir, filepath.FromSlash(c.place.Prefix)), c.dir} {
		all = append(all, dir)
		if rel, err := filepath.Rel(c.wd, dir); err == nil {
			all = append(all, rel)
		}
	}
	return all
}

// Close removes the directory. A process that is confined can't open the one above it, as os.RemoveAll
// does, so the files go first.
func (c *Checkout) Close() error {
	if c.dir == "" {
		return nil
	}
	if c.commit != nil {
		c.commit.Close() // nothing is written anymore
	}
	entries, err := os.ReadDir(c.dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(c.dir, e.Name())))
	}
	return errors.Join(err, os.Remove(c.dir))
}

// abs returns the absolute path of a file.
func (c *Checkout) abs(file string) string {
	if filepath.IsAbs(file) {
		return filepath.Clean(file)
	}
	return filepath.Join(c.wd, file)
}

// Root returns the temporary directory, or "".
func (c *Checkout) Root() string { return c.dir }

// Dir returns the directory that stands for the working directory, or "".
func (c *Checkout) Dir() string {
	if c.dir == "" {
		return ""
	}
	return filepath.Join(c.dir, filepath.FromSlash(c.place.Prefix))
}

// Path returns the path in the checkout of a file in the repository. Other values, such as
// references to registries and files elsewhere, stay as they are. ok is false if there is no
// such file in the commit.
func (c *Checkout) Path(value string) (path string, ok bool) {
	if c.dir == "" || strings.Contains(value, "://") || strings.Contains(value, "::") || strings.HasPrefix(value, "embedded:") {
		return value, true
	}
	abs := c.abs(value)
	// The temporary directory may be in the repository.
	if rel, err := filepath.Rel(c.dir, abs); err == nil && filepath.IsLocal(rel) {
		return value, true
	}
	rel, err := filepath.Rel(c.place.Root, abs)
	if err != nil || !filepath.IsLocal(rel) {
		return value, true
	}
	path = filepath.Join(c.dir, rel)
	if c.commit.Has(filepath.ToSlash(rel)) {
		return path, true
	}
	if _, err := os.Lstat(abs); errors.Is(err, fs.ErrNotExist) {
		return value, true // on neither side: a published module, REV:PATH, or a mistake
	}
	return path, false
}

// Renamed returns the paths in the checkout of a file or directory that has another name there:
// the directory, if all of it was renamed, or else the files.
func (c *Checkout) Renamed(ctx context.Context, value string) ([]string, error) {
	rel, err := filepath.Rel(c.place.Root, c.abs(value))
	if err != nil {
		return nil, nil
	}
	renames, err := gitfs.Renames(ctx, c.Commit)
	if err != nil {
		return nil, err
	}
	var paths []string
	for is, was := range renames {
		rest, ok := strings.CutPrefix(is, filepath.ToSlash(rel))
		if !ok || rest != "" && rest[0] != '/' {
			continue
		}
		if dir, ok := strings.CutSuffix(was, rest); ok && rest != "" {
			if _, err := os.Lstat(filepath.Join(c.place.Root, filepath.FromSlash(dir))); errors.Is(err, fs.ErrNotExist) {
				was = dir
			}
		}
		paths = append(paths, filepath.Join(c.dir, filepath.FromSlash(was)))
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// Relative returns the path of a file as both sides have it: relative to the working
// directory, or to the one that stands for it.
func (c *Checkout) Relative(file string) string {
	if c.dir == "" {
		return filepath.ToSlash(filepath.Clean(file))
	}
	rel, err := filepath.Rel(c.Dir(), c.abs(file))
	if err != nil {
		return file
	}
	return filepath.ToSlash(rel)
}

// Shown returns text in which files of the checkout have names that a reader knows, such as
// 1a2b3c4d5e:apps/web.yaml.
func (c *Checkout) Shown(text string) string {
	if c.replace == nil {
		return text
	}
	return c.replace.Replace(text)
}

// problems returns problems with the names of a reader.
func (c *Checkout) problems(ps problem.List) problem.List {
	if c.replace == nil {
		return ps
	}
	shown := make(problem.List, len(ps))
	for i, p := range ps {
		p.Position.File, p.Related.File, p.InstanceAt.File = c.Shown(p.Position.File), c.Shown(p.Related.File), c.Shown(p.InstanceAt.File)
		p.Message, p.Hint = c.Shown(p.Message), c.Shown(p.Hint)
		shown[i] = p
	}
	return shown
}
