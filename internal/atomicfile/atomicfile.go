// Package atomicfile writes files that others read at the same time.
//
// The entry point is [Write]. It is for single files: package modules/cache writes its own,
// which it compares with their digests.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Write creates or replaces a file as a whole: a reader, and whoever looks after a crash,
// finds the old content or the new one. A file that exists keeps its permissions, and a
// symbolic link its target's name. Write leaves no other file if it fails, but a process
// that is killed can leave a hidden one in the directory.
func Write(name string, data []byte) error {
	mode := fs.FileMode(0o644)
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		mode = info.Mode().Perm()
	}
	dir := filepath.Dir(name)
	f, err := os.CreateTemp(dir, "."+filepath.Base(name)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // after the renaming, there is none
	_, err = f.Write(data)
	// Without Sync, a crash after the renaming could leave an empty file.
	if err := errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
