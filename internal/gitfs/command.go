package gitfs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// gitError is a failure of the git command, which wraps its [exec.ExitError].
type gitError struct {
	// message is what git wrote to stderr, in one line.
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
		return nil, errors.New("reading revisions requires git, which is not installed; install it")
	case err != nil:
		e := &gitError{cmp.Or(oneLine(stderr.String()), err.Error()), err}
		if strings.HasPrefix(e.message, "not a git repository") {
			e.message += "; run the command in a clone of the repository"
		}
		return nil, e
	}
	return out, nil
}

// oneLine returns the error in what git wrote to stderr: all that follows "fatal: ", which
// may have the cure in further lines, without warnings before it.
func oneLine(stderr string) string {
	if at := strings.Index("\n"+stderr, "\nfatal: "); at >= 0 {
		stderr = stderr[at+len("fatal: "):]
	}
	var b strings.Builder
	for line := range strings.Lines(stderr) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if b.Len() > 0 && !strings.HasSuffix(b.String(), ":") {
			b.WriteByte(';')
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(line)
	}
	return b.String()
}

// isAbsent reports whether err is git's answer to --quiet that there is no such revision.
func isAbsent(err error) bool {
	exit := (*exec.ExitError)(nil)
	return errors.As(err, &exit) && exit.ExitCode() == 1
}

// missing returns the error of a revision that the repository in the working directory
// lacks. what names it. Clones of pipelines often have a single commit.
func missing(ctx context.Context, what string) error {
	if out, err := Git(ctx, "", "rev-parse", "--is-shallow-repository"); err == nil && strings.TrimSpace(string(out)) == "true" {
		return fmt.Errorf("%s; this clone is shallow: run 'git fetch --unshallow origin', or set fetch-depth: 0 for actions/checkout, or GIT_DEPTH: 0 in GitLab", what)
	}
	return fmt.Errorf("%s; if the remote repository has it, fetch it first", what)
}
