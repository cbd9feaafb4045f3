package gitfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/pequod-io/pequod/internal/lazyregexp"
)

// Commit describes the commit that is checked out.
type Commit struct {
	// ID is the full name of the commit.
	ID string
	// Revision is the commit in the form of Flux: BRANCH@sha1:HEX, with a tag if no
	// branch is checked out, or sha1:HEX if there is neither.
	Revision string
	// Time is the committer's time, in UTC.
	Time time.Time
	// Source is the address of the remote repository "origin" without credentials, or
	// "" if there is none that others could use, too.
	Source string
	// Change is the first uncommitted change as in git status, such as "?? new.yaml",
	// or "".
	Change string
}

// Head returns the commit that is checked out in the repository of a directory, or an
// error if there is none yet. "" is the working directory.
func Head(ctx context.Context, dir string) (*Commit, error) {
	changes, err := Git(ctx, dir, "status", "--porcelain")
	if err != nil {
		return nil, err
	}
	if _, err := Git(ctx, dir, "rev-parse", "--verify", "--quiet", "HEAD"); err != nil {
		return nil, cmp.Or(ctx.Err(), errors.New("the repository has no commit yet; commit the files first"))
	}
	head, err := Git(ctx, dir, "log", "-1", "--format=%H:%ct", "HEAD")
	if err != nil {
		return nil, err
	}
	id, seconds, _ := strings.Cut(strings.TrimSpace(string(head)), ":")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("git log: %w", err)
	}
	first, _, _ := strings.Cut(string(changes), "\n")
	hash := "sha1:"
	if len(id) == 64 {
		hash = "sha256:"
	}
	revision := hash + id
	if name := headName(ctx, dir); name != "" {
		revision = name + "@" + revision
	}
	origin, _ := Git(ctx, dir, "config", "--get", "remote.origin.url") // fails if there is none
	return &Commit{
		ID: id, Revision: revision, Time: time.Unix(unix, 0).UTC(), Change: strings.TrimSpace(first),
		Source: publicAddress(strings.TrimSpace(string(origin))),
	}, ctx.Err()
}

// headName returns the branch or the tag that is checked out, or "". Git reports that
// there is none by an exit code, so errors mean the same.
func headName(ctx context.Context, dir string) string {
	for _, args := range [][]string{
		{"symbolic-ref", "--quiet", "--short", "HEAD"},
		{"describe", "--exact-match", "--tags", "HEAD"},
	} {
		if name, err := Git(ctx, dir, args...); err == nil {
			return strings.TrimSpace(string(name))
		}
	}
	return ""
}

// scpAddress is git's short form of an ssh address, USER@HOST:PATH.
var scpAddress = lazyregexp.New(`^(?:[^@:/]+@)?([A-Za-z0-9.-]+\.[A-Za-z0-9-]+):([^/:@][^:@]*)$`)

// publicAddress returns the address of a repository without user names, passwords and
// tokens, or "" if it is a path on this machine. The short form of ssh becomes a URL.
func publicAddress(address string) string {
	if m := scpAddress().FindStringSubmatch(address); m != nil {
		return "ssh://" + m[1] + "/" + m[2]
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
