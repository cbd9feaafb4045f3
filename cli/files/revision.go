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
	Data []byte
}

// ReadTree reads the YAML and JSON files that an argument names: a file, a
// directory with its subdirectories, or REV:PATH for either in a git revision of
// the repository that contains the working directory. An existing file wins over
// a revision of the same spelling. Configuration files of tools are skipped.
func ReadTree(ctx context.Context, arg string) ([]TreeFile, error) {
	info, err := os.Stat(arg)
	if err != nil {
		if rev, file, ok := strings.Cut(arg, ":"); ok && !filepath.IsAbs(arg) {
			return gitTree(ctx, rev, file)
		}
		return nil, command.FileError(err)
	}
	if !info.IsDir() {
		data, err := ReadFile(arg)
		return []TreeFile{{Name: filepath.ToSlash(arg), Data: data}}, err
	}
	var files []TreeFile
	err = filepath.WalkDir(arg, func(p string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || !IsYAML(p) || IsToolConfig(e.Name()) {
			return err
		}
		data, err := ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(arg, p)
		files = append(files, TreeFile{filepath.ToSlash(p), filepath.ToSlash(rel), data})
		return err
	})
	return files, command.FileError(err)
}

// gitTree reads a file or a directory from a git revision. It runs git once for
// each file.
func gitTree(ctx context.Context, rev, file string) ([]TreeFile, error) {
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
	list, err := git(ctx, arg, "ls-tree", "--full-tree", "-r", "-z", "--name-only", object)
	if err != nil {
		return nil, err
	}
	var files []TreeFile
	for _, rel := range strings.Split(strings.TrimRight(string(list), "\x00"), "\x00") {
		if !IsYAML(rel) || IsToolConfig(path.Base(rel)) {
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
func gitPath(file string) string {
	file = filepath.ToSlash(file)
	if path.IsAbs(file) {
		return file
	}
	return "./" + file
}

// git runs the git command of the user and returns its stdout. Only that command
// knows every way to name a revision. subject begins the error message.
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
