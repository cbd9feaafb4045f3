// Package datadir is the directory that holds one control plane's state: its
// database, its keys, its log and its kubeconfig. It belongs to one process at
// a time, which holds a lock on it; the lock goes with the process however it
// ends.
//
// Open takes a directory that is kept, Temporary one that is thrown away.
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
	// settle is how long a directory may exist without its lock.
	settle = time.Minute
	// linger is how long a process that was killed may still hold its lock: the
	// kernel first frees its memory.
	linger = 2 * time.Second
)

// Dir is a locked directory.
type Dir struct {
	Path      string
	Temporary bool
	lock      *fileutil.LockedFile
}

// Open makes path unless it exists, and locks it. It fails if another process
// holds it and doesn't end within moments.
func Open(path string) (*Dir, error) {
	for deadline := time.Now().Add(linger); ; time.Sleep(20 * time.Millisecond) {
		dir, err := tryOpen(path)
		if !errors.Is(err, errInUse) || time.Now().After(deadline) {
			return dir, err
		}
	}
}

var errInUse = errors.New("in use by another test cluster")

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

// Temporary makes a directory below parent that Close removes, and removes
// those that processes which were killed have left there.
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

// Join is a path in the directory.
func (d *Dir) Join(name string) string { return filepath.Join(d.Path, name) }

// Close gives the directory free, and removes it if it is temporary.
func (d *Dir) Close() error {
	var err error
	if d.Temporary {
		err = os.RemoveAll(d.Path)
	}
	return errors.Join(err, d.lock.Close())
}

// sweep removes what killed processes left. It is a courtesy: what can't be
// read or removed, perhaps because it is somebody else's, is left alone.
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
