package sides

import (
	"path/filepath"
	"strings"

	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/cli/settings"
	"github.com/pequod-io/pequod/modules/lock"
	"github.com/pequod-io/pequod/modules/vendored"
)

// Fill writes a file of the commit, or a directory with its files but without those of its subdirectories, so
// that they can be read. Other paths are left alone. It is for [modules.Options]. After an error, it returns
// the same error always.
func (c *Checkout) Fill(path string) error {
	path = c.abs(path)
	c.mu.Lock()
	filled := c.filled[path]
	c.mu.Unlock()
	if !filled {
		// The root of a module is the nearest directory with cue.mod, which may be above.
		for dir := path; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			c.fill(filepath.Join(dir, "cue.mod"), func(string) bool { return false })
		}
		c.fill(path, direct)
		// Set last: other goroutines read the files as soon as the entry exists.
		c.mu.Lock()
		c.filled[path] = true
		c.mu.Unlock()
	}
	return c.Err()
}

// FillInput writes a file of the commit, or the files of a directory that are input, so that they can be
// read: with recursive, also those of its subdirectories. These are needed as well to tell that a directory has
// input only there.
func (c *Checkout) FillInput(path string, recursive bool) error {
	if c.dir == "" {
		return nil
	}
	found := false
	c.fill(path, func(file string) bool {
		is := files.IsYAML(file) && direct(file)
		found = found || is && !files.IsToolConfig(file)
		return is
	})
	if recursive || !found {
		c.fill(path, files.IsYAML)
	}
	return c.Err()
}

// fillSettings writes what the settings are read from in the working directory and above it.
func (c *Checkout) fillSettings() {
	for dir := c.Dir(); ; dir = filepath.Dir(dir) {
		for _, name := range []string{".", settings.FileName, lock.FileName, vendored.DirName} {
			c.fill(filepath.Join(dir, name), func(string) bool { return name == vendored.DirName })
		}
		if dir == c.dir {
			return
		}
	}
}

// direct reports whether a file is in a directory, and not in one below it.
func direct(file string) bool { return !strings.Contains(file, "/") }

// fill writes the files of the commit that want selects; see [gitfs.Copy.Fill].
func (c *Checkout) fill(path string, want func(file string) bool) {
	rel, err := filepath.Rel(c.dir, c.abs(path))
	if err != nil || !filepath.IsLocal(rel) {
		return // not in the commit
	}
	if err := c.commit.Fill(filepath.ToSlash(rel), want); err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.failed == nil {
			c.failed = err
		}
	}
}

// Err returns the first error of writing files: the side then lacks what the commit has. The zero Checkout has none.
func (c *Checkout) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}
