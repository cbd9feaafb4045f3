package mcp

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/pequod-io/pequod/internal/gitfs"
)

// repository returns the directories that git needs to read revisions: those of the repository of
// the server's directory, which may be above it. A linked worktree has its objects
// elsewhere. Without a repository there are none, and the command reports that.
func (r *runner) repository(ctx context.Context) []string {
	out, err := gitfs.Git(ctx, r.dir, "rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir")
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// gitEnvironment returns variables for git in a process that can't read the user's settings. [runner.repository] asks git with these settings
// whether the repository may be read, so its owner isn't checked again.
func gitEnvironment() []string {
	return []string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
	}
}

// revision returns the path of a value of the form REV:PATH. A file of that name in dir wins,
// as it does for commands.
func revision(dir, v string) (file string, ok bool) {
	if _, err := os.Lstat(filepath.Join(dir, v)); err == nil || strings.Contains(v, "://") || strings.Contains(v, "::") ||
		strings.HasPrefix(v, "embedded:") || strings.HasPrefix(v, "oci-layout:") {
		return "", false
	}
	_, file, ok = gitfs.Cut(v)
	return file, ok
}
