// Package outdir writes rendered objects into a directory, one file per object. It
// writes all of them or none.
//
// [Write] is the entry point. [Path] returns the file of an object.
//
// The directory also has an index of the files that pequod wrote. A file that is not
// in the index belongs to the user: pequod never removes it, and fails rather than
// overwrite it with other content. A run may be killed at any moment. So that the
// next run recognizes every file that pequod wrote, the index names a file before
// it appears and until it is removed:
//
//  1. compare the directory with the files, and check everything that can be
//     checked before the first change (plan.go)
//  2. stage the files that change (stage.go)
//  3. write the index with old and new files (index.go)
//  4. rename the staged files into place
//  5. prune files that are no longer rendered
//  6. write the index with the files that exist
//
// The package never follows symbolic links, and never leaves the directory, even if
// a manipulated index names other paths. It knows neither YAML nor Kubernetes.
package outdir

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
)

// ErrEmpty is returned by Write if it would prune everything, probably by mistake.
var ErrEmpty = errors.New("nothing was rendered, so everything would be pruned")

// File is one file to write.
type File struct {
	// Path must be a result of [Path].
	Path string
	// Source names the object and its origin in errors.
	Source string
	Data   []byte
	// Private files can be read by their owner only.
	Private bool
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
	// Prune removes files that the index lists and that are not written.
	Prune bool
	// AllowEmpty allows pruning everything without writing a file.
	AllowEmpty bool
}

// Write writes files into dir, which is created if necessary. It waits for other
// runs on the directory to end, and removes temporary files that a killed run left.
// Files that have the right content are not touched. If Write fails after the first
// change, each file is either old or new, and the next run completes the change.
//
// Each owner has an index of its own, so that runs for different purposes, such as
// CRDs and graphs, can share a directory: a run prunes only the files of its owner.
func Write(dir, owner string, files []File, o Options) error {
	return newRun(dir, owner).write(files, o)
}

// run is one run that writes into a directory.
type run struct {
	dir     string
	index   string   // the name of the index
	root    *os.Root // nil if the directory does not exist
	staging string   // the directory for staged files; empty before the first one
	owned   set      // the files that the index lists
	onDisk  []byte   // the content of the index; nil if there is none

	// step is called before every change of the disk. Tests make it fail.
	step func(what string) error
}

// newRun returns the run of an owner, which may be "".
func newRun(dir, owner string) *run {
	r := &run{dir: dir, index: indexName, step: func(string) error { return nil }}
	if owner != "" {
		r.index += "-" + owner
	}
	return r
}

// write performs the run; see Write.
func (r *run) write(files []File, o Options) error {
	byPath := map[string]File{}
	for _, f := range files {
		if !valid(f.Path) {
			return fmt.Errorf("%s: not a path for an object: %q", f.Source, f.Path)
		}
		if other, twice := byPath[f.Path]; twice {
			return fmt.Errorf("%s and %s: both are written to %s", other.Source, f.Source, f.Path)
		}
		byPath[f.Path] = f
	}
	if o.Prune && len(files) == 0 && !o.AllowEmpty {
		return fmt.Errorf("%s: %w", r.dir, ErrEmpty)
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
	if err := r.readIndex(); err != nil {
		return err
	}
	// Temporary files that a killed run left. The lock guarantees that no other run of
	// this user needs them.
	if err := r.sweep(); err != nil {
		return err
	}
	p, err := r.plan(byPath, o.Prune)
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
	for _, pattern := range []string{stagePrefix + "*", "*/" + probeName} {
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

// execute makes the changes of a plan. Before the first one, the index gets the files
// of both states; see the package comment.
func (r *run) execute(p plan) error {
	if err := r.stage(p.write); err != nil {
		return err
	}
	if len(p.write)+len(p.remove) > 0 { // otherwise one index is enough
		union := maps.Clone(r.owned)
		maps.Copy(union, p.owned)
		if err := r.writeIndex(union); err != nil {
			return err
		}
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
		emptied[path.Dir(file)] = true
	}
	for _, dir := range emptied.sorted() {
		if err := r.step("removing " + dir); err != nil {
			return err
		}
		// Only an empty directory can be removed. One with files of the user or of
		// another owner stays.
		_ = r.root.Remove(dir)
	}
	if r.onDisk == nil && len(p.owned) == 0 { // no index, and nothing to list
		return nil
	}
	return r.writeIndex(p.owned)
}

// moveIntoPlace renames a staged file to its path, and creates its directory.
func (r *run) moveIntoPlace(staged, file string) error {
	dir := path.Dir(file)
	if _, err := r.root.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := r.change("making it", dir, func() error { return r.root.Mkdir(dir, 0o755) }); err != nil {
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
