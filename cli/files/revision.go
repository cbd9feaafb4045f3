package files

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/internal/gitfs"
)

// TreeFile is one file of a tree of manifests, on disk or in a git revision.
type TreeFile struct {
	// Name is the name of the file in messages: its path, or REV:PATH.
	Name string
	// Path is relative to the root of the tree, with slashes. It is empty if
	// the tree is a single file.
	Path string
	// Data is the content, at most 256 MiB.
	Data []byte
}

// ReadTree reads the YAML and JSON files that an argument names: a file, a
// directory with its subdirectories, or REV:PATH for either in a git revision of
// the repository that contains the working directory. Examples are "manifests",
// "main:manifests" and "v1.2.0:crds/shop.yaml".
//
// An existing file wins over a revision of the same spelling. A single file is
// read whatever its extension is. In directories, configuration files of tools
// are skipped. A directory without input files is no error here.
func ReadTree(ctx context.Context, arg string) ([]TreeFile, error) {
	info, err := os.Stat(arg)
	if err != nil {
		rev, name, ok, revErr := OpenRevision(ctx, arg)
		switch {
		case revErr != nil:
			return nil, revErr
		case !ok:
			return nil, command.FileError(err)
		}
		return revisionTree(rev, name, arg)
	}
	if !info.IsDir() {
		data, err := ReadFile(ctx, arg)
		return []TreeFile{{Name: filepath.ToSlash(arg), Data: data}}, err
	}
	paths, err := FindYAML(arg, true)
	if err != nil {
		return nil, err
	}
	var files []TreeFile
	for _, p := range slices.DeleteFunc(paths, IsToolConfig) {
		data, err := ReadFile(ctx, p)
		if err != nil {
			return nil, err
		}
		rel, err := filepath.Rel(arg, p)
		if err != nil {
			return nil, err
		}
		files = append(files, TreeFile{filepath.ToSlash(p), filepath.ToSlash(rel), data})
	}
	return files, nil
}

// OpenRevision opens the git revision of an argument of the form REV:PATH. It returns
// the revision and the name of the path in it. Paths are relative to the working
// directory; in a bare repository, to its root. ok is false for other arguments.
func OpenRevision(ctx context.Context, arg string) (rev *gitfs.Revision, name string, ok bool, err error) {
	revName, file, ok := gitfs.Cut(arg)
	if !ok {
		return nil, "", false, nil
	}
	rev, err = gitfs.Open(ctx, revName)
	if err != nil {
		return nil, "", true, fmt.Errorf("%s: %w", arg, err)
	}
	name, inside := rev.Path(file)
	if !inside {
		return nil, "", true, fmt.Errorf("%s: leads out of the repository", arg)
	}
	return rev, name, true, nil
}

// revisionTree reads a file or a directory of a revision. arg is the name of the
// file that the user gave. Nothing is checked out.
func revisionTree(rev *gitfs.Revision, name, arg string) ([]TreeFile, error) {
	info, err := rev.Stat(name)
	if err != nil {
		return nil, command.FileError(err)
	}
	if !info.IsDir() {
		data, err := rev.ReadFile(name)
		return []TreeFile{{Name: arg, Data: data}}, command.FileError(err)
	}
	// Links may lead to other files of the directory, as on disk.
	tree, err := rev.Sub(name)
	if err != nil {
		return nil, command.FileError(err)
	}
	var files []TreeFile
	err = fs.WalkDir(tree, ".", func(rel string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !IsYAML(rel) || IsToolConfig(rel) {
			return command.FileError(err)
		}
		data, err := fs.ReadFile(tree, rel)
		files = append(files, TreeFile{rev.Shown(path.Join(name, rel)), rel, data})
		return command.FileError(err)
	})
	return files, err
}
