package artifact

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// work is a work tree of git without uncommitted changes.
type work struct {
	// files are the committed files of the module.
	files []committedFile
	// annotations describe the commit.
	annotations map[string]string
}

// committedFile is a file of the module, on disk.
type committedFile struct {
	// path is relative to the root of the module, with slashes.
	path string
	// file is the path on disk.
	file string
}

// committedFiles opens committed files for modzip.
type committedFiles struct{}

func (committedFiles) Path(f committedFile) string                 { return f.path }
func (committedFiles) Lstat(f committedFile) (fs.FileInfo, error)  { return os.Lstat(f.file) }
func (committedFiles) Open(f committedFile) (io.ReadCloser, error) { return os.Open(f.file) }

// committed returns the committed files below dir as `cue mod publish` chooses them: the
// whole work tree must be clean, and a module without a LICENSE gets that of the root of
// the repository. The time of the commit is in UTC: CUE writes it in the local time
// zone, so its artifacts depend on the machine.
func committed(ctx context.Context, dir string) (*work, error) {
	top, err := git(ctx, dir, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	root := strings.TrimSuffix(top, "\n")
	changes, err := git(ctx, root, "status", "--porcelain")
	if err != nil {
		return nil, err
	}
	if changes != "" {
		first, _, _ := strings.Cut(changes, "\n")
		return nil, fmt.Errorf("%s: uncommitted changes, such as %q; commit them, or publish the directory as it is with source: kind: \"self\"", dir, strings.TrimSpace(first))
	}
	w := &work{}
	if w.annotations, err = commit(ctx, root); err != nil {
		return nil, err
	}
	if w.files, err = listed(ctx, dir); err != nil {
		return nil, err
	}
	hasLicense := slices.ContainsFunc(w.files, func(f committedFile) bool { return f.path == license })
	if hasLicense {
		return w, nil
	}
	inRoot, err := git(ctx, root, "ls-files", "-z", "--", license)
	if err == nil && inRoot != "" {
		w.files = append(w.files, committedFile{license, filepath.Join(root, license)})
	}
	return w, err
}

// license is the file that a module takes from the root of its repository.
const license = "LICENSE"

// commit returns the annotations of the commit that is checked out.
func commit(ctx context.Context, root string) (map[string]string, error) {
	out, err := git(ctx, root, "-c", "log.showsignature=false", "log", "-1", "--format=%H:%ct")
	if err != nil {
		return nil, err
	}
	id, seconds, _ := strings.Cut(strings.TrimSpace(out), ":")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("git log: %w", err)
	}
	return map[string]string{
		vcsType:       "git",
		vcsCommit:     id,
		vcsCommitTime: time.Unix(unix, 0).UTC().Format(time.RFC3339),
	}, nil
}

// listed returns the committed files below dir.
func listed(ctx context.Context, dir string) ([]committedFile, error) {
	out, err := git(ctx, dir, "ls-files", "-z")
	if err != nil {
		return nil, err
	}
	var files []committedFile
	for name := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if name != "" {
			files = append(files, committedFile{name, filepath.Join(dir, filepath.FromSlash(name))})
		}
	}
	return files, nil
}

// git runs git in dir and returns its output.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return string(out), nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.As(err, &exit):
		return "", fmt.Errorf("%s: git %s: %s", dir, args[0], bytes.TrimSpace(exit.Stderr))
	}
	return "", fmt.Errorf("%s: %w", dir, err)
}
