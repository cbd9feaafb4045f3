// Package outdir writes rendered objects into a directory, one file per object, or into a
// directory for each of several clusters below it. It writes all of them or none.
//
// [Write] is the entry point. [Path] returns the file of an object, and [Check]
// finds out what Write would change.
//
// Each file begins with a comment that marks it as pequod's (header.go). A file
// without it belongs to the user: pequod never removes it, and fails rather than
// overwrite it with other content. A run may be killed at any moment. Files are
// renamed into place with their mark, so the next run recognizes every file that
// pequod wrote:
//
//  1. compare the directory with the files, and check everything that can be
//     checked before the first change (plan.go)
//  2. stage the files that change (stage.go)
//  3. rename the staged files into place
//  4. prune files that are no longer rendered
//
// The package never follows symbolic links, and never leaves the directory. It
// knows nothing of YAML but its comments, and nothing of Kubernetes.
package outdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// ErrEmpty is returned by Write if it would prune everything, probably by mistake.
var ErrEmpty = errors.New("nothing was rendered, so everything would be pruned")

// File is one file to write.
type File struct {
	// Path must be a result of [Path] or [In].
	Path string
	// Source names the object and its origin in errors.
	Source string
	Data   []byte
	// Private files can be read by their owner only.
	Private bool
	// Keep reports whether the file may keep a content that differs from Data. It may
	// be nil. The content has no header and the line ends of Data.
	Keep func(content []byte) bool
}

// mode returns the permissions with which a file is created.
func (f File) mode() fs.FileMode {
	if f.Private {
		return 0o600
	}
	return 0o644
}

// Options limits the files that are removed. The zero value removes nothing.
type Options struct {
	// Prune removes files that an earlier run wrote and this run does not.
	Prune bool
	// AllowEmpty allows pruning everything without writing a file.
	AllowEmpty bool
}

// Write writes files into dir, which is created if necessary. It waits for other
// runs on the directory to end, and removes temporary files that a killed run left.
// Files that have the right content are not touched. If Write fails after the first
// change, each file is either old or new, and the next run completes the change.
//
// owner is the command that writes. Commands for different purposes, such as CRDs
// and graphs, can share a directory: a run prunes only the files of its owner.
func Write(dir, owner string, files []File, o Options) error {
	return newRun(dir, owner).write(files, o)
}

// run is one run that writes into a directory.
type run struct {
	dir     string
	owner   string
	root    *os.Root // nil if the directory does not exist
	staging string   // the directory for staged files; empty before the first one

	// step is called before every change of the disk. Tests make it fail.
	step func(what string) error
}

// newRun returns the run of an owner.
func newRun(dir, owner string) *run {
	return &run{dir: dir, owner: owner, step: func(string) error { return nil }}
}

// prepare returns the files by path, with their headers.
func (r *run) prepare(files []File, o Options) (map[string]File, error) {
	byPath := map[string]File{}
	for _, f := range files {
		if !valid(f.Path) {
			return nil, fmt.Errorf("%s: not a path for an object: %q", f.Source, f.Path)
		}
		if other, twice := byPath[f.Path]; twice {
			return nil, fmt.Errorf("%s and %s: both are written to %s", other.Source, f.Source, f.Path)
		}
		f.Data = append([]byte(headerOf(r.owner, f.Path)), f.Data...)
		byPath[f.Path] = f
	}
	if o.Prune && len(files) == 0 && !o.AllowEmpty {
		return nil, fmt.Errorf("%s: %w", r.dir, ErrEmpty)
	}
	return byPath, nil
}

// write performs the run; see Write.
func (r *run) write(files []File, o Options) error {
	byPath, err := r.prepare(files, o)
	if err != nil {
		return err
	}
	if err := r.open(len(files) > 0); err != nil || r.root == nil {
		return err
	}
	defer r.root.Close() // nothing is buffered that could be lost
	unlock, err := lock(r.dir)
	if err != nil {
		return fmt.Errorf("%s: %w", r.dir, err)
	}
	defer unlock()
	// Temporary files that a killed run left. The lock guarantees that no other run of
	// this user needs them.
	if err := r.sweep(); err != nil {
		return err
	}
	p, err := r.plan(byPath, o.Prune)
	if err == nil {
		err = r.probe(p)
	}
	if err == nil {
		err = r.execute(p)
	}
	// The sweep can only fail to remove temporary files, which the next run does.
	_ = r.sweep()
	return err
}

// open opens the directory. If it does not exist, it is created if create is set.
func (r *run) open(create bool) error {
	root, err := os.OpenRoot(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		if !create {
			return nil
		}
		// A file in the way fails to open.
		if err := os.MkdirAll(r.dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return r.fail("", "making it", err)
		}
		root, err = os.OpenRoot(r.dir)
	}
	if err != nil {
		return r.fail("", "opening", err)
	}
	r.root = root
	return nil
}

// sweep removes the temporary files of this run and of killed ones.
func (r *run) sweep() error {
	for _, pattern := range []string{stagePrefix + "*", "*/" + probeName, "*/*/" + probeName} {
		names, err := fs.Glob(r.root.FS(), pattern)
		if err != nil {
			return r.fail("", "reading", err)
		}
		for _, name := range names {
			if err := r.root.RemoveAll(name); err != nil {
				return r.fail(name, "removing what was staged", err)
			}
		}
	}
	return nil
}

// execute makes the changes of a plan.
func (r *run) execute(p plan) error {
	if err := r.stage(p.write); err != nil {
		return err
	}
	for i, f := range p.write {
		if err := r.moveIntoPlace(r.staged(i), f.Path); err != nil {
			return err
		}
	}
	emptied := set{}
	for _, file := range p.remove {
		err := r.change("removing", file, func() error { return r.root.Remove(file) })
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
			emptied[dir] = true
		}
	}
	for _, dir := range slices.Backward(emptied.sorted()) {
		if err := r.step("removing " + dir); err != nil {
			return err
		}
		// Only an empty directory can be removed. One with files of the user or of
		// another owner stays.
		_ = r.root.Remove(dir)
	}
	return nil
}

// moveIntoPlace renames a staged file to its path, and creates its directory.
func (r *run) moveIntoPlace(staged, file string) error {
	dir := path.Dir(file)
	if _, err := r.root.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := r.change("making it", dir, func() error { return r.root.MkdirAll(dir, 0o755) }); err != nil {
			return err
		}
	}
	return r.change("writing", file, func() error { return r.root.Rename(staged, file) })
}

// change makes one change of the disk. Its error names the operation and the path
// that is changed.
func (r *run) change(operation, rel string, f func() error) error {
	if err := r.step(operation + " " + rel); err != nil {
		return err
	}
	if err := f(); err != nil {
		return r.fail(rel, operation, err)
	}
	return nil
}

// fail returns the error of an operation on a path in the directory. It names the path
// as the user does, and drops the path that err may contain.
func (r *run) fail(rel, operation string, err error) error {
	var pathError *fs.PathError
	var linkError *os.LinkError
	switch {
	case errors.As(err, &pathError):
		err = pathError.Err
	case errors.As(err, &linkError):
		err = linkError.Err
	}
	return fmt.Errorf("%s: %s: %w", filepath.Join(r.dir, filepath.FromSlash(rel)), operation, err)
}
