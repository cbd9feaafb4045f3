//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package cache

import (
	"io/fs"
	"os"
	"syscall"
)

// errReadOnly is the error of a write to a file system that is mounted read-only.
const errReadOnly = syscall.EROFS

// tryLock locks a file until it is closed or the process ends. It returns false if
// another open file has the lock.
func tryLock(f *os.File) bool {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EINTR {
			return err == nil
		}
	}
}

// isForeign reports whether a directory belongs to another user. The directories of
// root are trusted, and root trusts those of all users, as in a container with a
// mounted cache.
func isForeign(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Uid != 0 && os.Geteuid() != 0 && int(stat.Uid) != os.Geteuid()
}
