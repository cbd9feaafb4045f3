package kinds

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/crdgen/jsonschema"
	"github.com/pequod-io/pequod/internal/atomicfile"
)

// change is a file to write, or with nil data one to remove.
type change struct {
	// file is the path of the file, and why the reason in the words of --check.
	file, why string
	data      []byte
}

// planDirectory returns the changes that make the files of a directory those of wanted,
// whose keys are paths with slashes. With prune, other schemas of this command are removed.
// A file that this command didn't write is an error if it is in the way. The directory need
// not exist.
func planDirectory(dir string, wanted map[string][]byte, prune bool) ([]change, error) {
	root, err := os.OpenRoot(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, command.FileError(err)
	}
	have := map[string][]byte{}
	if err == nil {
		defer root.Close() // it is only read
		if have, err = written(root.FS()); err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
	}
	var changes []change
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		file := filepath.ToSlash(filepath.Join(dir, filepath.FromSlash(name)))
		content, ours := have[name]
		switch {
		case bytes.Equal(content, wanted[name]):
		case ours:
			changes = append(changes, change{file, "differs from the schema of its kind", wanted[name]})
		default:
			if _, err := os.Lstat(file); err == nil {
				return nil, fmt.Errorf("%s: was not written by this command; move it, or choose another directory", file)
			}
			changes = append(changes, change{file, "is missing", wanted[name]})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if _, keep := wanted[name]; prune && !keep {
			changes = append(changes, change{file: filepath.ToSlash(filepath.Join(dir, filepath.FromSlash(name))), why: "is the schema of no kind any more"})
		}
	}
	return changes, nil
}

// written returns the contents of the schemas of this command in a directory, at its top or
// one level below, by their paths. It follows no links.
func written(dir fs.FS) (map[string][]byte, error) {
	found := map[string][]byte{}
	mark := []byte(`"$comment": "` + jsonschema.Comment + `"`)
	for _, pattern := range []string{"*.json", "*/*.json"} {
		names, err := fs.Glob(dir, pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if info, err := fs.Lstat(dir, name); err != nil || !info.Mode().IsRegular() {
				continue
			}
			data, err := fs.ReadFile(dir, name)
			if err != nil {
				return nil, err
			}
			if bytes.Contains(data, mark) {
				found[path.Clean(name)] = data
			}
		}
	}
	return found, nil
}

// apply makes changes in their order.
func apply(changes []change) error {
	for _, c := range changes {
		if c.data == nil {
			if err := os.Remove(c.file); err != nil {
				return command.FileError(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(c.file), 0o755); err != nil {
			return command.FileError(err)
		}
		if err := atomicfile.Write(c.file, c.data); err != nil {
			return command.FileError(err)
		}
	}
	return nil
}
