package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/cli/command"
)

// TreeFile is one file of a tree of manifests, on disk or in a git revision.
type TreeFile struct {
	// Name is the name of the file in messages: its path, or REV:PATH.
	Name string
	// Path is relative to the root of the tree, with slashes. It is empty if
	// the tree is a single file.
	Path string
	// Data is the content, at most 256 MiB for files on disk. Files of a revision
	// have no limit: they were small enough to be committed.
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
		if rev, file, ok := strings.Cut(arg, ":"); ok && !filepath.IsAbs(arg) {
			return gitTree(ctx, rev, file)
		}
		return nil, command.FileError(err)
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

// gitTree reads a file or a directory from a git revision, in the order of git.
// It runs git once for each file, and once or twice before that. Nothing is
// checked out.
func gitTree(ctx context.Context, rev, file string) ([]TreeFile, error) {
	// git would take such a revision for an option.
	arg := rev + ":" + file
	if strings.HasPrefix(rev, "-") {
		return nil, fmt.Errorf("%s: not a revision", arg)
	}
	object := rev + ":" + gitPath(file)
	kind, err := git(ctx, arg, "cat-file", "-t", object)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(string(kind)) != "tree" {
		data, err := git(ctx, arg, "cat-file", "blob", object)
		return []TreeFile{{Name: arg, Data: data}}, err
	}
	// -z: names are separated by zero bytes and not quoted.
	list, err := git(ctx, arg, "ls-tree", "--full-tree", "-r", "-z", "--name-only", object)
	if err != nil {
		return nil, err
	}
	var files []TreeFile
	for _, rel := range strings.Split(strings.TrimRight(string(list), "\x00"), "\x00") {
		if !IsYAML(rel) || IsToolConfig(rel) {
			continue
		}
		data, err := git(ctx, arg, "cat-file", "blob", strings.TrimSuffix(object, "/")+"/"+rel)
		if err != nil {
			return nil, err
		}
		files = append(files, TreeFile{path.Join(arg, rel), rel, data})
	}
	return files, nil
}

// gitPath returns file in the form that git takes for a path relative to the
// working directory. Without the "./", git starts at the top of the repository.
// See "<rev>:<path>" in gitrevisions(7).
func gitPath(file string) string {
	file = filepath.ToSlash(file)
	if path.IsAbs(file) {
		return file
	}
	return "./" + file
}

// git runs the git command of the user and returns its stdout. Only that command
// knows every way to name a revision. subject begins the error message, which has
// the first line of git's stderr.
func git(ctx context.Context, subject string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("%s: reading revisions requires git, which is not installed", subject)
	}
	if err != nil {
		message, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return nil, fmt.Errorf("%s: git: %s", subject, strings.TrimPrefix(message, "fatal: "))
	}
	return out, nil
}
