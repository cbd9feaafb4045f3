package artifact

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pequod-io/pequod/internal/gitfs"
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
	head, err := gitfs.Head(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if head.Change != "" {
		return nil, fmt.Errorf("%s: uncommitted changes, such as %q; commit them, or publish the directory as it is with source: kind: \"self\"", dir, head.Change)
	}
	w := &work{annotations: map[string]string{
		vcsType: "git", vcsCommit: head.ID, vcsCommitTime: head.Time.Format(time.RFC3339),
	}}
	if w.files, err = listed(ctx, dir); err != nil {
		return nil, err
	}
	hasLicense := slices.ContainsFunc(w.files, func(f committedFile) bool { return f.path == license })
	if hasLicense {
		return w, nil
	}
	top, err := gitfs.Git(ctx, dir, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	root := strings.TrimSuffix(string(top), "\n")
	inRoot, err := gitfs.Git(ctx, root, "ls-files", "-z", "--", license)
	if err == nil && len(inRoot) > 0 {
		w.files = append(w.files, committedFile{license, filepath.Join(root, license)})
	}
	return w, err
}

// license is the file that a module takes from the root of its repository.
const license = "LICENSE"

// listed returns the committed files below dir.
func listed(ctx context.Context, dir string) ([]committedFile, error) {
	out, err := gitfs.Git(ctx, dir, "ls-files", "-z")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	var files []committedFile
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if name != "" {
			files = append(files, committedFile{name, filepath.Join(dir, filepath.FromSlash(name))})
		}
	}
	return files, nil
}
