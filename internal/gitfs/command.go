package gitfs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/internal/confine"
)

// gitError is a failure of the git command, which wraps its [exec.ExitError].
type gitError struct {
	// message is what git wrote to stderr, in one line.
	message string
	err     error
}

func (e *gitError) Error() string { return "git: " + e.message }
func (e *gitError) Unwrap() error { return e.err }

// settings keep what a stranger has committed from running programs, and all of git from the network.
// See git-config(1).
var settings = []string{
	"safe.bareRepository=explicit", "core.fsmonitor=false", "core.hooksPath=" + os.DevNull, "core.sshCommand=false",
	"protocol.allow=never", "log.showSignature=false",
}

// environment does the same: nothing is fetched, written or asked. See git(1).
var environment = []string{"GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0"}

// gitCommand returns a git command in a directory; "" is the working directory. No other function
// starts git.
func gitCommand(ctx context.Context, dir string, args ...string) (*exec.Cmd, error) {
	if err := checkRepository(dir); err != nil {
		return nil, err
	}
	var all []string
	for _, s := range settings {
		all = append(all, "-c", s)
	}
	cmd := exec.CommandContext(ctx, "git", append(all, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), environment...)
	return cmd, nil
}

// checkRepository returns an error if git would find a repository in files of a directory above dir that
// can be committed, as those of a bare repository can. Its configuration may run programs, and its
// branches may be anything. Versions of git before 2.38 don't know safe.bareRepository.
func checkRepository(dir string) error {
	if os.Getenv("GIT_DIR") != "" {
		return nil // the user has chosen it
	}
	at, err := filepath.Abs(dir)
	if err == nil {
		at, err = filepath.EvalSymlinks(at)
	}
	if err != nil {
		return err
	}
	has := func(name string) bool { _, err := os.Lstat(filepath.Join(at, name)); return err == nil }
	for ; !has(".git"); at = filepath.Dir(at) {
		if has("HEAD") && (has("commondir") || has("objects") && has("refs")) {
			return fmt.Errorf("%s has the files of a bare git repository, which a stranger may have committed; run the command in another directory, or set GIT_DIR to it if it is yours", at)
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	return nil
}

// Git runs the git command in a directory and returns its stdout. "" is the working
// directory.
func Git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd, err := gitCommand(ctx, dir, args...)
	if err != nil {
		return nil, err
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err = start(cmd); err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return nil, failure(ctx, err, stderr.String())
	}
	return stdout.Bytes(), nil
}

// failure returns the error of a git command that failed with err and wrote to stderr.
func failure(ctx context.Context, err error, stderr string) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return errors.New("reading revisions requires git, which is not installed; install it")
	}
	e := &gitError{cmp.Or(oneLine(stderr), err.Error()), err}
	switch {
	case strings.HasPrefix(e.message, "not a git repository"):
		e.message += "; run the command in a clone of the repository"
	case strings.Contains(e.message, "from promisor remote"), strings.Contains(stderr, "lazy fetching disabled"):
		e.message += "; this clone is a partial one: run 'git fetch --refetch --no-filter', or clone without a filter"
	}
	return e
}

// Programs returns the files and directories that git must be able to execute: the git program, its
// helper programs, and shared libraries.
func Programs() []string {
	all := slices.Concat(confine.Libraries, []string{"/usr/libexec/git-core"})
	if program, err := exec.LookPath("git"); err == nil {
		all = append(all, program)
	}
	return all
}

// start starts git, which can read files, run programs of its own and nothing else. The user's configuration
// may be anywhere.
func start(cmd *exec.Cmd) error {
	return confine.Room{Read: []string{"/"}, Run: Programs()}.Start(cmd)
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
