// Package datadir manages the directory with the state of one control plane: its
// database, keys, log and kubeconfig. A process locks the directory; the lock is
// released when the process ends, in whichever way.
//
// [Open] uses a persistent directory, [Temporary] one that is deleted afterwards.
package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

const (
	prefix   = "pequod-testcluster-"
	lockName = "lock"
	// settle is the minimum age of an unlocked directory before it is considered
	// abandoned.
	settle = time.Minute
	// linger is how long a killed process may still hold its lock while the
	// kernel frees its memory.
	linger = 2 * time.Second
)

// Dir is a locked directory.
type Dir struct {
	Path      string
	Temporary bool
	lock      *fileutil.LockedFile
}

// Open creates path if it does not exist and locks it. It returns an error if
// another process holds the lock for longer than linger.
func Open(path string) (*Dir, error) {
	for deadline := time.Now().Add(linger); ; time.Sleep(20 * time.Millisecond) {
		dir, err := tryOpen(path)
		if !errors.Is(err, errInUse) || time.Now().After(deadline) {
			return dir, err
		}
	}
}

var errInUse = errors.New("in use by another test cluster")

// tryOpen creates and locks a directory. It does not wait for the lock.
func tryOpen(path string) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	lock, err := fileutil.TryLockFile(filepath.Join(path, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fileutil.ErrLocked) {
		return nil, fmt.Errorf("%s: %w", path, errInUse)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: locking: %w", path, err)
	}
	return &Dir{Path: path, lock: lock}, nil
}

// Temporary creates a directory below parent that Close deletes. It also deletes
// directories that killed processes left there.
func Temporary(parent string) (*Dir, error) {
	sweep(parent, time.Now())
	path, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return nil, err
	}
	dir, err := Open(path)
	if err != nil {
		return nil, err
	}
	dir.Temporary = true
	return dir, nil
}

// Join returns a path inside the directory.
func (d *Dir) Join(name string) string { return filepath.Join(d.Path, name) }

// Close unlocks the directory, and deletes it if it is temporary.
func (d *Dir) Close() error {
	var err error
	if d.Temporary {
		err = os.RemoveAll(d.Path)
	}
	return errors.Join(err, d.lock.Close())
}

// sweep deletes directories that killed processes left behind. Errors are
// ignored, for example for directories of other users.
func sweep(parent string, now time.Time) {
	left, err := filepath.Glob(filepath.Join(parent, prefix+"*"))
	if err != nil {
		return
	}
	for _, path := range left {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() || now.Sub(info.ModTime()) < settle {
			continue
		}
		dir, err := tryOpen(path)
		if err != nil {
			continue
		}
		dir.Temporary = true
		_ = dir.Close()
	}
}
