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

// Add stages a file. The path is one that [Path] returned; the source names the
// object and its origin in errors. A path that was added before is an error.
func (s *Stage) Add(path, source string, content []byte) error {
	if !valid(path) {
		return fmt.Errorf("%s: not a path for an object: %q", source, path)
	}
	if other, twice := s.entries[path]; twice {
		return fmt.Errorf("%s and %s: both are written to %s", other.source, source, path)
	}
	e := entry{source: source}
	if s.root != nil {
		same, info, err := s.holds(path, content)
		if err != nil {
			return err
		}
		if same {
			e.kept = info
		}
	}
	if e.kept == nil {
		if err := s.enter(); err != nil {
			return err
		}
		if err := s.step("stage " + path); err != nil {
			return err
		}
		e.staged = s.staging + "/" + strconv.Itoa(len(s.entries))
		if err := s.writeFile(e.staged, content, fleeting); err != nil {
			return s.fail(path, "staging", err)
		}
	}
	s.entries[path] = e
	return nil
}

// holds tells whether the regular file at path has the content. What else may
// stand there is no error yet: Commit looks again, and judges.
func (s *Stage) holds(path string, content []byte) (bool, fs.FileInfo, error) {
	info, err := s.look(path)
	if err != nil || info == nil || info.Size() != int64(len(content)) {
		return false, nil, nil
	}
	old, err := s.root.ReadFile(path)
	if err != nil {
		return false, nil, s.fail(path, "reading", err)
	}
	return bytes.Equal(old, content), info, nil
}

// look describes the regular file at path, nil if nothing is there. Anything
// else, and a directory that isn't one, is an error.
func (s *Stage) look(file string) (fs.FileInfo, error) {
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

// enter makes the output directory and the staging directory in it.
func (s *Stage) enter() error {
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

// makeDir makes the output directory and remembers which directories it made.
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
			s.made = append(s.made, missing[i])
		}
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return s.fail("", "opening", err)
	}
	s.root = root
	return nil
}

// Whether a file must be on disk, and not only in the system's memory, before
// the run goes on. A power cut may cost files their content, which the next run
// sees; it must not cost the index.
const (
	fleeting = false
	durable  = true
)

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
