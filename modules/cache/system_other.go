//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package cache

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// errReadOnly is an error that does not occur: such file systems deny permission.
var errReadOnly = errors.New("read-only file system")

// usedFor is the time for which a process is assumed to live. Locks that are not
// waited for are not portable, and the ID of a process may be that of another
// container.
const usedFor = 24 * time.Hour

// tryLock reports whether the process that created f has probably ended, or f is
// new.
func tryLock(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && (info.Size() == 0 || time.Since(info.ModTime()) > usedFor)
}

// isForeign returns false: owners are not numbers on this operating system.
func isForeign(fs.FileInfo) bool { return false }
