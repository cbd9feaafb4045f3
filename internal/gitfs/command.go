package gitfs

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
)

// gitError is a failure of the git command, which wraps its [exec.ExitError].
type gitError struct {
	// message is the first line that git wrote to stderr.
	message string
	err     error
}

func (e *gitError) Error() string { return "git: " + e.message }
func (e *gitError) Unwrap() error { return e.err }

// Git runs the git command in a directory and returns its stdout. "" is the working
// directory.
func Git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return nil, errors.New("reading revisions requires git, which is not installed")
	case err != nil:
		message, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		if message == "" {
			message = err.Error()
		}
		return nil, &gitError{strings.TrimPrefix(message, "fatal: "), err}
	}
	return out, nil
}
