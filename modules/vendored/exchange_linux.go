package vendored

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// exchange puts a directory in the place of another one, in one step. old need not exist.
// Afterwards, fresh may be the old directory.
func exchange(fresh, old string) error {
	if _, err := os.Lstat(old); errors.Is(err, fs.ErrNotExist) {
		return os.Rename(fresh, old)
	}
	if unix.Renameat2(unix.AT_FDCWD, fresh, unix.AT_FDCWD, old, unix.RENAME_EXCHANGE) == nil {
		return nil
	}
	return renameBoth(fresh, old) // not all file systems know how to exchange
}
