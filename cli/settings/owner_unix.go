//go:build unix

package settings

import (
	"os"
	"syscall"
)

// ownerOf returns the user ID of the owner of a file, and of a symbolic link that
// of the link itself: its target may be a file of someone who knows nothing of it.
func ownerOf(path string) (int, bool) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), true
}
