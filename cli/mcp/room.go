package mcp

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/pequod-io/pequod/internal/confine"
	"github.com/pequod-io/pequod/modules/cache"
)

// room returns what a process may do: read the directory of the server and also, run git if it is in run, write to the
// cache and to a directory of its own, and without network connect to nothing.
func (r *runner) room(own string, also, programs []string) confine.Room {
	room := confine.Room{
		Read:    append(r.readable(), also...),
		Write:   []string{own},
		Run:     slices.Concat([]string{r.program}, confine.Libraries, programs), // a build with cgo needs libraries
		Network: r.network,
	}
	if cached, err := cache.FromEnvironment(os.LookupEnv); err == nil && cached.Dir != "" {
		room.Write = append(room.Write, cached.Dir)
	}
	return room
}

// readable returns the files and directories that a process needs. Some may not exist.
func (r *runner) readable() []string {
	all := []string{r.dir, "/usr/share/zoneinfo"}
	if config, err := os.UserConfigDir(); err == nil {
		all = append(all, filepath.Join(config, "pequod"))
	}
	if r.network {
		all = append(all, "/etc", "/usr/share/ca-certificates")
	}
	// The settings of the repository that the directory is a part of.
	for at := r.dir; at != filepath.Dir(at); at = filepath.Dir(at) {
		all = append(all, filepath.Join(at, "pequod.yaml"), filepath.Join(at, "pequod.lock"))
		if info, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			if info.Mode().IsRegular() {
				all = append(all, filepath.Join(at, ".git")) // the name of the repository of a linked worktree
			}
			break
		}
	}
	return all
}
