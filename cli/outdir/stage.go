// Package outdir writes rendered objects into a directory, one file each, and
// all of them or none.
//
// [Open] a directory, [Stage.Add] one object after the other, and [Stage.Commit]
// when the last one is rendered; until then nothing that was in the directory
// has changed. [Stage.Abort] leaves it as it was. [Path] names an object's file.
//
// Beside the files lies an index of what pequod wrote. A file that it doesn't
// list is the user's: it is never removed, and replaced only by its like. So
// that a run killed at any moment leaves nothing behind that the next one
// wouldn't recognise, the index names every file before it appears and until
// it is gone:
//
//	stage files → index = old ∪ new → rename into place → prune → index = what is there
//
// Links are never followed and paths never leave the directory, whatever the
// index says. The package knows no YAML and no Kubernetes objects.
package outdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	// stagePrefix begins the name of the directory that holds files until they
	// are committed. It lies in the output directory, because a rename doesn't
	// cross file systems.
	stagePrefix = ".pequod-stage-"
	// probeName is what is made and removed to see whether that can be done.
	probeName = ".pequod-probe"
)

var errNotRegular = errors.New("not a regular file")

// Stage is one run's output on its way into a directory. It isn't safe for
// concurrent use.
type Stage struct {
	dir     string
	index   string
	root    *os.Root // nil while the directory doesn't exist
	unlock  func()
	made    []string // directories above and including dir that this run made
	staging string   // empty until something was staged
	entries map[string]entry
	owned   set    // what the index lists
	onDisk  []byte // the index as it is

	// step is called before every change to the disk; tests let it fail.
	step func(what string) error
}

// entry is one file to be.
type entry struct {
	source string
	// staged is the file's place in the staging directory, or empty if the
	// directory holds the same content already, in the file that kept describes.
	staged string
	kept   fs.FileInfo
}

// Open starts a run on dir, which needn't exist: it is made when the first file
// is staged. Open waits for other runs on the directory, and removes what a
// killed one left there. The caller ends the run with Commit or Abort.
//
// Runs that share a directory but not what they own in it, such as CRDs and
// graphs, give different owners: each prunes its own files only.
func Open(dir, owner string) (*Stage, error) {
	unlock, err := lock(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	s := &Stage{
		dir: dir, index: indexName, unlock: unlock,
		entries: map[string]entry{}, owned: set{},
		step: func(string) error { return nil },
	}
	if owner != "" {
		s.index += "-" + owner
	}
	if err := s.open(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// open reads what the directory holds, if it is there.
func (s *Stage) open() error {
	root, err := os.OpenRoot(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return s.fail("", "opening", err)
	}
	s.root = root
	if s.owned, s.onDisk, err = s.readIndex(); err != nil {
		return err
	}
	return s.sweep()
}

// sweep removes what runs stage or probe with, of this run and of killed ones.
func (s *Stage) sweep() error {
	for _, pattern := range []string{stagePrefix + "*", "*/" + probeName} {
		names, err := fs.Glob(s.root.FS(), pattern)
		if err != nil {
			return s.fail("", "reading", err)
		}
		for _, name := range names {
			if err := s.root.RemoveAll(name); err != nil {
				return s.fail(name, "removing what was staged", err)
			}
		}
	}
	return nil
}

// Abort ends the run and leaves the directory as Open found it; a directory
// that the run made is removed. It does nothing after Commit, so it can be
// deferred.
func (s *Stage) Abort() error {
	if s.unlock == nil {
		return nil
	}
	defer s.close()
	if s.root == nil {
		return nil
	}
	err := s.sweep()
	for i := len(s.made) - 1; i >= 0; i-- {
		if os.Remove(s.made[i]) != nil {
			break // not empty: a commit began, or somebody else uses it
		}
	}
	return err
}

// close releases the directory and the lock, in that order.
func (s *Stage) close() {
	if s.root != nil {
		_ = s.root.Close() // nothing is written through it
		s.root = nil
	}
	if s.unlock != nil {
		s.unlock()
		s.unlock = nil
	}
}

// fail is the error of an operation on a path in the directory.
func (s *Stage) fail(rel, operation string, err error) error {
	var pathError *fs.PathError
	var linkError *os.LinkError
	switch {
	case errors.As(err, &pathError):
		err = pathError.Err
	case errors.As(err, &linkError):
		err = linkError.Err
	}
	return fmt.Errorf("%s: %s: %w", filepath.Join(s.dir, filepath.FromSlash(rel)), operation, err)
}
