package cache

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// usersLock is the lock of the part users. A process that starts to use content
// holds it shared, and one that evicts content holds it alone.
const usersLock = "users"

// users is the file in which a process lists the content that it uses. The process
// holds a lock on it as long as it lives, so the file of a process that was killed
// is recognized.
type users struct {
	store *store

	mu    sync.Mutex // guards the fields below
	file  *os.File   // nil until the first use
	added map[string]bool
}

// add marks content as in use by this process. It does nothing if the directory
// cannot be written.
func (u *users) add(ctx context.Context, hex string, patience time.Duration) {
	if u.has(hex) || !u.store.complete {
		return
	}
	// mu is not held while waiting: the goroutine that has the lock may need mu.
	unlock, err := lockShared(ctx, u.store.lockFile(usersLock), patience)
	if err != nil {
		return
	}
	defer unlock()
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.file == nil {
		file, err := u.store.create(inUse)
		if err != nil {
			return
		}
		if !tryLock(file) {
			file.Close() // nothing was written
			return
		}
		u.file, u.added = file, map[string]bool{}
	}
	if _, err := u.file.WriteString(hex + "\n"); err == nil {
		u.added[hex] = true
	}
}

// has reports whether the content is marked already.
func (u *users) has(hex string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.added[hex]
}

// close ends the use of all content by this process.
func (u *users) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.file != nil {
		u.file.Close()                                          // unlocks
		_ = u.store.remove(inUse, filepath.Base(u.file.Name())) // else an eviction does
		u.file, u.added = nil, nil
	}
}

// used returns the content that any process uses. It removes the files of processes
// that have ended. The caller holds usersLock alone.
func (s *store) used() map[string]bool {
	used := map[string]bool{}
	for _, i := range s.list(inUse) {
		file, err := s.root.OpenFile(inUse+"/"+i.name, os.O_RDWR, 0)
		if err != nil {
			continue // its process has just closed it
		}
		ended := tryLock(file)
		file.Close() // it is only read
		if ended {
			_ = s.remove(inUse, i.name) // else the next eviction does
			continue
		}
		data, _, err := s.read(inUse, i.name)
		if err != nil {
			continue
		}
		for hex := range strings.SplitSeq(string(data), "\n") {
			used[hex] = true
		}
	}
	return used
}
