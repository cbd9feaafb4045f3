package sides

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/internal/gitfs"
	"github.com/pequod-io/pequod/internal/problem"
)

// Checkout has the files of a commit in a temporary directory. The zero Checkout stands for
// the files of the working directory.
type Checkout struct {
	// Name is the short name of the commit, which positions of its files begin with.
	Name string
	// Commit is the full name of the commit.
	Commit string

	// submodules are the paths of submodules, as Relative returns them. The checkout lacks
	// their files.
	submodules []string

	place gitfs.Place
	// dir is the temporary directory, without links.
	dir string
	// replace turns paths in dir into names for messages.
	replace *strings.Replacer
}

// shortName is the number of digits of a commit in messages.
const shortName = 10

// Open writes the files of a commit to a temporary directory. The caller must call Close.
func Open(ctx context.Context, commit string) (*Checkout, error) {
	place, err := gitfs.Locate(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pequod-review-")
	if err != nil {
		return nil, err
	}
	c := &Checkout{Name: commit[:min(shortName, len(commit))], Commit: commit, place: place, dir: dir}
	if err := c.fill(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// fill writes the files, and a mark that ends the search for pequod.yaml at the root.
func (c *Checkout) fill(ctx context.Context) error {
	dir, err := filepath.EvalSymlinks(c.dir)
	if err != nil {
		return err
	}
	c.dir = dir
	if err := gitfs.Export(ctx, c.Commit, dir); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o700); err != nil {
		return err
	}
	var pairs []string
	for _, root := range c.spellings() {
		pairs = append(pairs, filepath.ToSlash(root)+"/", c.Name+":")
	}
	c.replace = strings.NewReplacer(pairs...)
	if _, err := os.Lstat(filepath.Join(dir, ".gitmodules")); err != nil {
		return nil
	}
	links, err := gitfs.Submodules(ctx, c.Commit)
	for _, path := range links {
		c.submodules = append(c.submodules, c.Relative(filepath.Join(dir, filepath.FromSlash(path))))
	}
	return err
}

// spellings returns the ways in which messages may spell the directory of the checkout that
// stands for the working directory, and then its root: absolute, and relative to the working
// directory.
func (c *Checkout) spellings() []string {
	var all []string
	for _, dir := range []string{filepath.Join(c.dir, filepath.FromSlash(c.place.Prefix)), c.dir} {
		all = append(all, dir)
		if wd, err := os.Getwd(); err == nil {
			if rel, err := filepath.Rel(wd, dir); err == nil {
				all = append(all, rel)
			}
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
	entries, err := os.ReadDir(c.dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(c.dir, e.Name())))
	}
	return errors.Join(err, os.Remove(c.dir))
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
	abs, err := filepath.Abs(value)
	if err != nil {
		return value, true
	}
	// The temporary directory may be in the repository.
	if rel, err := filepath.Rel(c.dir, abs); err == nil && filepath.IsLocal(rel) {
		return value, true
	}
	rel, err := filepath.Rel(c.place.Root, abs)
	if err != nil || !filepath.IsLocal(rel) {
		return value, true
	}
	path = filepath.Join(c.dir, rel)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
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
	abs, err := filepath.Abs(value)
	if err != nil {
		return nil, nil // it has no name in the repository
	}
	rel, err := filepath.Rel(c.place.Root, abs)
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
	abs, err := filepath.Abs(file)
	if err != nil {
		return file
	}
	rel, err := filepath.Rel(c.Dir(), abs)
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
