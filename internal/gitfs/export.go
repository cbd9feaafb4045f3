package gitfs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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

// Export writes all files of a commit below a directory, which must be empty. Symbolic
// links are written as links, and submodules are left out. Names that lead out of the
// directory are refused. Unlike a checkout, it changes neither the repository nor the bytes
// of a file, and it runs git twice, however many files there are.
func Export(ctx context.Context, commit, dir string) error {
	entries, err := blobs(ctx, commit)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	// Links come last, so that no file is written through one.
	slices.SortStableFunc(entries, func(a, b Entry) int { return strings.Compare(a.Mode, b.Mode) })
	var names bytes.Buffer
	for _, e := range entries {
		names.WriteString(e.Object + "\n")
	}
	cmd, err := gitCommand(ctx, "", "cat-file", "--batch")
	if err != nil {
		return err
	}
	cmd.Stdin = &names
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := start(cmd); err != nil {
		return err
	}
	r := bufio.NewReaderSize(out, 1<<16)
	to := exporter{root: root}
	defer to.close()
	failed := func() error {
		for _, e := range entries {
			if err := to.export(e, r); err != nil {
				return err
			}
		}
		return nil
	}()
	_, _ = io.Copy(io.Discard, r) // after an error, git must not wait for its reader
	if err := cmd.Wait(); err != nil && failed == nil {
		failed = fmt.Errorf("git cat-file: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return errors.Join(ctx.Err(), failed)
}

// Submodules returns the paths of a commit's submodules.
func Submodules(ctx context.Context, commit string) ([]string, error) {
	out, err := Git(ctx, "", "ls-tree", "-r", "-z", "--full-tree", commit)
	var paths []string
	for line := range strings.SplitSeq(string(out), "\x00") {
		if fields, name, ok := strings.Cut(line, "\t"); ok && strings.Contains(fields, " commit ") {
			paths = append(paths, name)
		}
	}
	return paths, err
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

// blobs returns the files and links of a commit. Their names are paths.
func blobs(ctx context.Context, commit string) ([]Entry, error) {
	out, err := Git(ctx, "", "ls-tree", "-r", "-z", "--full-tree", commit)
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		// MODE SP TYPE SP OBJECT TAB PATH
		fields, name, _ := strings.Cut(line, "\t")
		f := strings.Fields(fields)
		if len(f) == 3 && f[1] == "blob" {
			entries = append(entries, Entry{Name: name, Mode: f[0], Object: f[2]})
		}
	}
	return entries, nil
}

// exporter writes entries below root.
type exporter struct {
	root *os.Root
	// dir is the directory of the last entry with that name, or nil. Entries come in the
	// order of their paths, so it is often that of the next one.
	dir  *os.Root
	name string
}

// close closes the last directory.
func (x *exporter) close() {
	if x.dir != nil {
		x.dir.Close() // nothing was written to it
	}
}

// enter makes and opens a directory below root.
func (x *exporter) enter(name string) error {
	if x.dir != nil && x.name == name {
		return nil
	}
	if err := x.root.MkdirAll(name, 0o700); err != nil {
		return err
	}
	dir, err := x.root.OpenRoot(name)
	if err != nil {
		return err
	}
	x.close()
	x.dir, x.name = dir, name
	return nil
}

// export reads the next object of git cat-file --batch and writes it.
func (x *exporter) export(e Entry, r *bufio.Reader) error {
	header, err := r.ReadString('\n') // OBJECT SP TYPE SP SIZE
	if err != nil {
		return fmt.Errorf("git cat-file: %w", err)
	}
	fields := strings.Fields(header)
	if len(fields) != 3 {
		return fmt.Errorf("git cat-file: %s; get it with 'git fetch --refetch origin'", strings.TrimSpace(header)) // OBJECT missing
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return fmt.Errorf("git cat-file: %w", err)
	}
	dir, name := filepath.Split(filepath.FromSlash(e.Name))
	if err := x.enter(filepath.Clean(dir)); err != nil {
		return err
	}
	content := io.LimitReader(r, size)
	if e.Mode == "120000" {
		target, err := io.ReadAll(content)
		if err == nil {
			err = x.dir.Symlink(string(target), name)
		}
		if err != nil {
			return err
		}
	} else if err := write(x.dir, name, content); err != nil {
		return err
	}
	_, err = r.Discard(1) // the line feed after the content
	return err
}

// write writes a new file.
func write(root *os.Root, name string, content io.Reader) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}
