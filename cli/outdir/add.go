package outdir

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// Add stages a file. path must be a result of [Path]; source names the object and its
// origin in errors. It is an error to add a path twice. A file that exists with the
// same content is not staged, and will not be touched.
func (s *Stage) Add(path, source string, content []byte) error {
	if !valid(path) {
		return fmt.Errorf("%s: not a path for an object: %q", source, path)
	}
	if other, twice := s.entries[path]; twice {
		return fmt.Errorf("%s and %s: both are written to %s", other.source, source, path)
	}
	e := entry{source: source}
	if s.root != nil {
		same, info, err := s.hasContent(path, content)
		if err != nil {
			return err
		}
		if same {
			e.kept = info
		}
	}
	if e.kept == nil {
		if err := s.makeStaging(); err != nil {
			return err
		}
		if err := s.step("stage " + path); err != nil {
			return err
		}
		e.staged = s.staging + "/" + strconv.Itoa(len(s.entries))
		if err := s.writeFile(e.staged, content, volatile); err != nil {
			return s.fail(path, "staging", err)
		}
	}
	s.entries[path] = e
	return nil
}

// hasContent reports whether the regular file at path has the content. Anything else
// at the path is no error here: Commit checks again and returns it.
func (s *Stage) hasContent(path string, content []byte) (bool, fs.FileInfo, error) {
	info, err := s.stat(path)
	if err != nil || info == nil || info.Size() != int64(len(content)) {
		return false, nil, nil
	}
	old, err := s.root.ReadFile(path)
	if err != nil {
		return false, nil, s.fail(path, "reading", err)
	}
	return bytes.Equal(old, content), info, nil
}

// stat describes the regular file at a path. It returns nil if nothing exists there,
// and an error if the path is not a regular file or its parent is not a directory.
func (s *Stage) stat(file string) (fs.FileInfo, error) {
	dir := path.Dir(file)
	info, err := s.root.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, s.fail(dir, "reading", err)
	case !info.IsDir():
		return nil, s.fail(dir, "writing below it", errors.New("not a directory"))
	}
	info, err = s.root.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, s.fail(file, "reading", err)
	case !info.Mode().IsRegular():
		return nil, s.fail(file, "replacing", errNotRegular)
	}
	return info, nil
}

// makeStaging creates the staging directory, and the output directory if
// necessary. It waits until the first file needs it, so a run without changes
// writes nothing. The random name avoids a clash with the directory of another
// user's run.
func (s *Stage) makeStaging() error {
	if s.staging != "" {
		return nil
	}
	if err := s.step("make the directories"); err != nil {
		return err
	}
	if s.root == nil {
		if err := s.makeDir(); err != nil {
			return err
		}
	}
	staging := stagePrefix + strings.ToLower(rand.Text())
	if err := s.root.Mkdir(staging, 0o755); err != nil {
		return s.fail("", "making a directory in it", err)
	}
	s.staging = staging
	return nil
}

// makeDir creates the output directory and its parents, and records those that it
// created for Abort. A directory that another program creates at the same time is
// used, but not recorded.
func (s *Stage) makeDir() error {
	var missing []string
	for dir := filepath.Clean(s.dir); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			break
		}
		missing = append(missing, dir)
	}
	for i := len(missing) - 1; i >= 0; i-- {
		err := os.Mkdir(missing[i], 0o755)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return s.fail("", "making it", err)
		}
		if err == nil {
			s.created = append(s.created, missing[i])
		}
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return s.fail("", "opening", err)
	}
	s.root = root
	return nil
}

// Values for the parameter sync of writeFile: whether a file must be on disk before
// the run continues. After a power failure, objects may have lost their content,
// which the next run notices; the index must not be lost.
const (
	volatile = false
	durable  = true
)

// writeFile writes a file in the directory, and syncs it to disk if required.
func (s *Stage) writeFile(name string, content []byte, sync bool) error {
	f, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil && sync {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
