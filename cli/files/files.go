package files

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/settings"
)

// maxInput bounds one input file, in bytes.
const maxInput = 256 << 20

// isToolFile tells files that lie among instances but configure a tool.
func IsToolConfig(name string) bool {
	return slices.Contains([]string{settings.FileName, "kustomization.yaml", "kustomization.yml"}, name)
}

// readFile reads a whole file of bounded size.
func ReadFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, command.FileError(err)
	}
	defer file.Close() // nothing was written
	return ReadBounded(name, file)
}

func ReadBounded(name string, r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	switch {
	case err != nil:
		return nil, command.FileError(err)
	case len(data) > maxInput:
		return nil, fmt.Errorf("%s: larger than %d MiB", name, maxInput>>20)
	}
	return data, nil
}

// readInput reads one of the files of -f, and says how messages call it.
func ReadInput(file string, stdin io.Reader) (shown string, data []byte, err error) {
	if file == "-" {
		data, err = ReadBounded("stdin", stdin)
		return "stdin", data, err
	}
	data, err = ReadFile(file)
	return filepath.ToSlash(file), data, err
}

func IsYAML(name string) bool {
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// yamlFiles lists the YAML and JSON files below a directory.
func YamlFiles(dir string) ([]string, error) {
	var paths []string
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && IsYAML(p) {
			paths = append(paths, p)
		}
		return err
	})
	if err != nil {
		return nil, command.FileError(err)
	}
	return paths, nil
}
