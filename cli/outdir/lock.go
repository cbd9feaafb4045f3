package outdir

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/pequod-io/pequod/internal/confine"
)

// lock waits until no other run of this user has locked dir, which must exist, and
// locks it. The
// lock file is in the user's cache, so that the directory has only output, and is
// never removed. The operating system unlocks it if the process is killed.
//
// Runs of different users do not exclude each other, and neither do runs on
// different machines with a shared file system.
func lock(dir string) (unlock func(), err error) {
	// All names of a directory have the same lock.
	real, err := filepath.Abs(dir)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if err != nil {
		return nil, err
	}
	// A path may be longer than a file name, and contain separators; its hash is
	// and does neither.
	name := fmt.Sprintf("%x.lock", sha256.Sum256([]byte(real)))
	// The first directory that can be locked counts. If none can be, the error is
	// that of the last one.
	for _, dir := range lockDirs() {
		if err = os.MkdirAll(dir, 0o700); err != nil {
			continue
		}
		if unlock, err = lockedfile.MutexAt(filepath.Join(dir, name)).Lock(); err == nil {
			return unlock, nil
		}
	}
	return nil, fmt.Errorf("locking: %w", err)
}

// lockDirs returns the directories that may have the lock files. In a container, the home directory may
// be missing or read-only.
func lockDirs() []string {
	dirs := []string{filepath.Join(os.TempDir(), fmt.Sprintf("pequod-%d", os.Getuid()), "locks")}
	if cache, err := os.UserCacheDir(); err == nil {
		dirs = append([]string{filepath.Join(cache, "pequod", "locks")}, dirs...)
	}
	return dirs
}

// Room returns what Write needs to write into a directory: the directory, or the nearest one above it
// that exists, and the locks.
func Room(dir string) confine.Room {
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
	}
	room := confine.Room{Write: []string{dir}}
	for _, locks := range lockDirs() {
		if err := os.MkdirAll(locks, 0o700); err == nil {
			room.Write = append(room.Write, locks)
			break
		}
	}
	return room
}
