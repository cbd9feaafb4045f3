package outdir

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// The index lists every file of the directory that pequod wrote and may remove:
// one path per line, sorted, below a header. Its name has no extension, so that
// tools that apply the directory ignore it. For example:
//
//	# pequod index v1: what pequod wrote here and may remove; not to be edited
//	_cluster/namespace-shop.yaml
//	shop/deployment.apps-web.yaml
//
// indexFamily is the part of the header that all versions share. An owner has an
// index of its own, such as .pequod-index-render.
const (
	indexName   = ".pequod-index"
	indexFamily = "# pequod index "
	indexHeader = indexFamily + "v1: what pequod wrote here and may remove; not to be edited"
)

// set is a set of paths, with slashes and relative to the directory.
type set map[string]bool

// sorted returns the paths in order.
func (s set) sorted() []string { return slices.Sorted(maps.Keys(s)) }

// formatIndex returns the content of the index for paths.
func formatIndex(paths set) []byte {
	var b bytes.Buffer
	b.WriteString(indexHeader + "\n")
	for _, path := range paths.sorted() {
		b.WriteString(path + "\n")
	}
	return b.Bytes()
}

// parseIndex returns the paths of an index. It rejects paths that Path cannot return:
// an index is part of a git checkout, so a user who can change the repository
// could otherwise make pequod remove other files.
func parseIndex(content []byte) (set, error) {
	paths := set{}
	n := 0
	for line := range strings.Lines(string(content)) {
		n++
		// Git may have converted the line ends.
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		switch {
		case n == 1 && line == indexHeader:
		case n == 1 && strings.HasPrefix(line, indexFamily):
			return nil, fmt.Errorf("line 1: written by another version of pequod: %q", line)
		case n == 1:
			return nil, fmt.Errorf("line 1: not an index of pequod's: %q", line)
		case !valid(line):
			return nil, fmt.Errorf("line %d: not a path that pequod writes: %q", n, line)
		default:
			paths[line] = true
		}
	}
	if n == 0 {
		return nil, errors.New("empty: not an index of pequod's")
	}
	return paths, nil
}

// readIndex reads the index. The content is nil if there is none.
func (r *run) readIndex() error {
	r.owned = set{}
	info, err := r.root.Lstat(r.index)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && !info.Mode().IsRegular():
		err = errNotRegular
	case err == nil:
		r.onDisk, err = r.root.ReadFile(r.index)
	}
	if err == nil {
		r.owned, err = parseIndex(r.onDisk)
	}
	if err != nil {
		return r.fail(r.index, "reading", err)
	}
	return nil
}

// writeIndex replaces the index, unless it has the same paths already. The new
// index is on disk when writeIndex returns, because later steps depend on it. It
// replaces the old one by a rename, so a killed run leaves one of the two.
func (r *run) writeIndex(paths set) error {
	content := formatIndex(paths)
	if bytes.Equal(content, r.onDisk) {
		return nil
	}
	if err := r.makeStaging(); err != nil {
		return err
	}
	next := r.staging + "/index"
	if err := r.change("writing", r.index, func() error { return r.writeFile(next, content, 0o644, true) }); err != nil {
		return err
	}
	if err := r.change("replacing", r.index, func() error { return r.root.Rename(next, r.index) }); err != nil {
		return err
	}
	r.onDisk = content
	return nil
}
