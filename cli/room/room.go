// Package room has what commands may still do while they work on what strangers have written: the
// files, programs and connections that package confine leaves to a process.
package room

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/pequod-io/pequod/internal/confine"
	"github.com/pequod-io/pequod/internal/gitfs"
	"github.com/pequod-io/pequod/modules/cache"
)

// Of returns what a command needs that works in a directory, which is absolute: it reads the directory,
// the settings and system files, and writes to the cache.
func Of(dir string, network bool) confine.Room {
	room := confine.Room{
		Read:    []string{dir, "/usr/share/zoneinfo"},
		Run:     append([]string(nil), confine.Libraries...), // a build with cgo needs libraries
		Network: network,
	}
	if config, err := os.UserConfigDir(); err == nil {
		room.Read = append(room.Read, filepath.Join(config, "pequod"))
	}
	if network {
		room.Read = append(room.Read, "/etc", "/usr/share/ca-certificates")
	}
	// The settings of the repository that the directory is a part of.
	for at := dir; at != filepath.Dir(at); at = filepath.Dir(at) {
		room.Read = append(room.Read, filepath.Join(at, "pequod.yaml"), filepath.Join(at, "pequod.lock"))
		if info, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			if info.Mode().IsRegular() {
				room.Read = append(room.Read, filepath.Join(at, ".git")) // the name of the repository of a linked worktree
			}
			break
		}
	}
	if cached, err := cache.FromEnvironment(os.LookupEnv); err == nil && cached.Dir != "" {
		room.Write = append(room.Write, cached.Dir)
	}
	return room
}

// Repository returns the directories that git needs to read revisions: those of the repository of
// a directory, which may be above it. A linked worktree has its objects
// elsewhere. Without a repository there are none, and the command reports that.
func Repository(ctx context.Context, dir string) []string {
	out, err := gitfs.Git(ctx, dir, "rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir")
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// GitEnvironment returns variables for git in a process that can't read the user's settings. [Repository]
// asks git with these settings whether the repository may be read, so its owner isn't checked again.
func GitEnvironment() map[string]string {
	return map[string]string{
		"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.DevNull,
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
	}
}
