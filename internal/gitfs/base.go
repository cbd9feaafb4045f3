package gitfs

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// Place is the position of a directory in its repository.
type Place struct {
	// Root is the root of the work tree, and Prefix the directory relative to it, with
	// slashes. Prefix is empty at the root.
	Root, Prefix string
}

// Locate returns the place of the working directory. A bare repository is an error.
func Locate(ctx context.Context) (Place, error) {
	out, err := Git(ctx, "", "rev-parse", "--show-toplevel", "--show-prefix")
	if err != nil {
		return Place{}, err
	}
	root, prefix, _ := strings.Cut(strings.TrimSuffix(string(out), "\n"), "\n")
	return Place{Root: filepath.FromSlash(root), Prefix: strings.TrimSuffix(prefix, "/")}, nil
}

// DefaultBranch returns the branch that changes are merged into: the default branch of the
// remote repository origin, or else main or master.
func DefaultBranch(ctx context.Context) (string, error) {
	if out, err := Git(ctx, "", "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD"); err == nil {
		return strings.TrimSpace(string(out)), nil
	} else if !isAbsent(err) {
		return "", err
	}
	for _, name := range []string{"origin/main", "origin/master", "main", "master"} {
		if _, err := Git(ctx, "", "rev-parse", "--verify", "--quiet", name+"^{commit}"); err == nil {
			return name, nil
		} else if !isAbsent(err) {
			return "", err
		}
	}
	return "", missing(ctx, "no branch origin/HEAD, main or master")
}

// MergeBase returns the full name of the best common ancestor of HEAD and a revision.
func MergeBase(ctx context.Context, rev string) (string, error) {
	// git would take such a name for an option.
	if rev == "" || strings.HasPrefix(rev, "-") {
		return "", fmt.Errorf("%q is not a git revision; name a branch, a tag or a commit", rev)
	}
	if _, err := Git(ctx, "", "rev-parse", "--verify", "--quiet", rev+"^{commit}"); err != nil {
		if isAbsent(err) {
			return "", missing(ctx, fmt.Sprintf("no git revision %q", rev))
		}
		return "", err
	}
	out, err := Git(ctx, "", "merge-base", "HEAD", rev)
	if isAbsent(err) {
		return "", missing(ctx, fmt.Sprintf("HEAD and %s have no common commit", rev))
	}
	return strings.TrimSpace(string(out)), err
}

// Tracks reports whether the index of the repository has a file, or files in a directory. The
// path is relative to the working directory.
func Tracks(ctx context.Context, path string) (bool, error) {
	out, err := Git(ctx, "", "ls-files", "-z", "--", ":(literal)"+filepath.ToSlash(path))
	return len(out) > 0, err
}

// Renames returns the old paths, by the new ones, of files that have another name in the
// working tree than in a commit. It knows files that git tracks. Paths begin at the root.
func Renames(ctx context.Context, commit string) (map[string]string, error) {
	out, err := Git(ctx, "", "diff", "--no-ext-diff", "--no-relative", "--name-status", "-z", "-M", "--diff-filter=R", commit, "--")
	all := map[string]string{}
	fields := strings.Split(string(out), "\x00") // R100, old, new, ...
	for i := 0; i+2 < len(fields); i += 3 {
		all[fields[i+2]] = fields[i+1]
	}
	return all, err
}
