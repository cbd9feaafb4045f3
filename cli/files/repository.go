package files

import (
	"context"
	"os"
	"path/filepath"

	"github.com/pequod-io/pequod/internal/gitfs"
)

// RepositoryPaths returns a function that converts the name of a file as the user
// knows it to the path of the file in the git repository of the working directory,
// with slashes. CI systems find files by that path, in whatever directory of the
// repository the command runs.
//
// The function returns all other names unchanged: files outside of the repository,
// and names that are no files on disk, such as stdin, REV:PATH and the files of
// embedded modules. Without a repository, it returns every name unchanged.
func RepositoryPaths() func(name string) string {
	same := func(name string) string { return name }
	wd, err := os.Getwd()
	if err != nil {
		return same
	}
	real, err := filepath.EvalSymlinks(wd)
	if err != nil {
		return same
	}
	top := repositoryOf(real)
	if top == "" {
		return same
	}
	known := map[string]string{} // many problems are in one file
	return func(name string) string {
		path, ok := known[name]
		if !ok {
			path = pathIn(top, real, name)
			known[name] = path
		}
		return path
	}
}

// HeadCommit returns the commit that is checked out in the repository of the working
// directory, or nil if that is in no repository.
func HeadCommit(ctx context.Context) (*gitfs.Commit, error) {
	wd, err := os.Getwd()
	if err != nil || repositoryOf(wd) == "" {
		return nil, err
	}
	return gitfs.Head(ctx, "")
}

// repositoryOf returns the nearest directory at or above dir that contains .git, or
// "". In a linked worktree and in a submodule, .git is a file.
func repositoryOf(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// pathIn returns the path of a file relative to top, or name if there is no such
// path. wd is the working directory. Neither top nor wd has links, so those in name
// are resolved, too, except that the file itself may be one: git tracks links.
func pathIn(top, wd, name string) string {
	file := filepath.FromSlash(name)
	if !filepath.IsAbs(file) {
		file = filepath.Join(wd, file)
	}
	if _, err := os.Lstat(file); name == "" || err != nil {
		return name
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(file))
	if err != nil {
		return name
	}
	path, err := filepath.Rel(top, filepath.Join(dir, filepath.Base(file)))
	if err != nil || !filepath.IsLocal(path) {
		return name
	}
	return filepath.ToSlash(path)
}

// Base returns the directory that names of files in records for other machines start from:
// the root of the git repository of the working directory, or the working directory if it
// is in none. It also returns the working directory. Neither has links.
func Base() (base, wd string, err error) {
	if wd, err = os.Getwd(); err != nil {
		return "", "", err
	}
	if wd, err = filepath.EvalSymlinks(wd); err != nil {
		return "", "", err
	}
	if base = repositoryOf(wd); base == "" {
		base = wd
	}
	return base, wd, nil
}

// Below returns the path of an existing file below base, with slashes. base and wd are
// those of [Base]. ok is false if the file is elsewhere.
func Below(base, wd, name string) (below string, ok bool) {
	below = pathIn(base, wd, name)
	return below, filepath.IsLocal(filepath.FromSlash(below))
}
