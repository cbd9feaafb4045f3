// Package outdir writes rendered objects into a directory, one file per object. It
// writes all of them or none.
//
// [Open] starts a run on a directory. [Stage.Add] stages one file after the other
// without changing any file of the directory. [Stage.Commit] moves the staged files
// into place, and [Stage.Abort] discards them. [Path] returns the file of an object.
//
// The directory also has an index of the files that pequod wrote. A file that is not
// in the index belongs to the user: pequod never removes it, and fails rather than
// overwrite it with other content. A run may be killed at any moment. So that the
// next run recognizes every file that pequod wrote, the index names a file before
// it appears and until it is removed:
//
//  1. stage the files (add.go)
//  2. write the index with old and new files (index.go)
//  3. rename the staged files into place (commit.go)
//  4. prune files that are no longer rendered
//  5. write the index with the files that exist
//
// The package never follows symbolic links, and never leaves the directory, even if
// a manipulated index names other paths. It knows neither YAML nor Kubernetes.
package outdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	// stagePrefix begins the name of the directory for staged files. It is in the
	// output directory, because files cannot be renamed across file systems.
	stagePrefix = ".pequod-stage-"
	// probeName is the name of a directory that is created and removed to check
	// permissions.
	probeName = ".pequod-probe"
)

// errNotRegular is the error for directories, links and devices at the path of a file.
var errNotRegular = errors.New("not a regular file")

// Stage is one run that writes into a directory. It is not safe for concurrent
// use. The run begins with [Open] and ends with the first call of Commit or
// Abort, when unlock becomes nil.
type Stage struct {
	dir     string
	index   string           // the name of the index
	root    *os.Root         // nil if the directory does not exist yet
	unlock  func()           // nil after the end of the run
	created []string         // directories that this run created: dir and its parents, top down
	staging string           // the directory for staged files; empty before the first one
	entries map[string]entry // the added files by path
	owned   set              // the files that the index lists
	onDisk  []byte           // the content of the index; nil if there is none

	// step is called before every change of the disk. Tests make it fail.
	step func(what string) error
}

// entry is one added file.
type entry struct {
	source string // the object and its origin, for errors
	// staged is the path of the staged file. It is empty if the directory has the
	// same content already; kept then describes that file.
	staged string
	kept   fs.FileInfo
}

// Open starts a run on dir. It waits for other runs on the directory to end, and
// removes temporary files that a killed run left. If dir does not exist, it is
// created with the first staged file. The caller must end the run with Commit or
// Abort.
//
// Each owner has an index of its own, so that runs for different purposes, such as
// CRDs and graphs, can share a directory: a run prunes only the files of its owner.
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

// open opens the directory and reads the index, if they exist.
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

// sweep removes the temporary files of this run and of killed ones. The lock
// guarantees that no other run of this user needs them.
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

// Abort ends the run and leaves the directory as Open found it. It removes
// directories that the run created. After Commit it does nothing, so it can be
// deferred. An error means that temporary files remain, which the next run
// removes.
func (s *Stage) Abort() error {
	if s.unlock == nil {
		return nil
	}
	defer s.close()
	if s.root == nil {
		return nil
	}
	err := s.sweep()
	for i := len(s.created) - 1; i >= 0; i-- {
		if os.Remove(s.created[i]) != nil {
			break // not empty: a commit has started, or another program uses it
		}
	}
	return err
}

// close closes the directory and then unlocks it.
func (s *Stage) close() {
	if s.root != nil {
		_ = s.root.Close() // nothing is buffered that could be lost
		s.root = nil
	}
	if s.unlock != nil {
		s.unlock()
		s.unlock = nil
	}
}

// fail returns the error of an operation on a path in the directory. It names the path
// as the user does, and drops the path that err may contain.
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
