package mcp

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/pequod-io/pequod/modules/git"
)

// maxArguments bounds the values of one list, and maxArgument their lengths in bytes.
const (
	maxArguments = 200
	maxArgument  = 4096
)

// checkReferences returns an error unless all values are paths in dir, now or in a revision
// of git, or references to modules that are not paths. dir is absolute and has no links.
func checkReferences(dir string, values ...string) error {
	if len(values) > maxArguments {
		return fmt.Errorf("%d values, want at most %d; name a directory instead", len(values), maxArguments)
	}
	for _, v := range values {
		if err := checkReference(dir, v); err != nil {
			return err
		}
	}
	return nil
}

// checkReference checks one value.
func checkReference(dir, v string) error {
	switch {
	case v == "" || v == "-" || strings.ContainsRune(v, 0) || len(v) > maxArgument:
		return fmt.Errorf("%.80q is not the name of a file or a module", v)
	case strings.Contains(strings.ToLower(v), "file:"):
		return fmt.Errorf("%q: URLs of files are not allowed; name the path", v)
	case strings.HasPrefix(v, git.Prefix):
		if _, err := git.ParseRef(v); err != nil { // it may be a path
			return err
		}
	}
	// Whatever else it is, some command may take it for a path.
	if err := checkPath(dir, strings.TrimPrefix(v, "oci-layout:")); err != nil {
		return err
	}
	if file, ok := revision(dir, v); ok && (filepath.IsAbs(file) || !inside(dir, filepath.Join(dir, file))) {
		return fmt.Errorf("%q: is not in the directory of the server", v)
	}
	return nil
}

// checkPath returns an error if a path leads out of dir, by itself or by links. A path that
// doesn't exist is checked as far as it exists: the command reports it.
func checkPath(dir, name string) error {
	full := name
	if !filepath.IsAbs(full) {
		full = filepath.Join(dir, full)
	}
	for at := filepath.Clean(full); ; at = filepath.Dir(at) {
		real, err := filepath.EvalSymlinks(at)
		if errors.Is(err, fs.ErrNotExist) && at != filepath.Dir(at) && inside(dir, at) {
			continue
		}
		if err != nil || !inside(dir, real) || !inside(dir, filepath.Clean(full)) {
			return fmt.Errorf("%q: is not in the directory of the server", name)
		}
		return nil
	}
}

// inside reports whether an absolute path is dir or below it.
func inside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
