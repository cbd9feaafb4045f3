package cache

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// The parts of the directory.
const (
	blobs   = "blobs/sha256"
	records = "records"
	locks   = "locks"
	inUse   = "users"
	tmp     = "tmp"
)

// touchAfter is the precision of the time of the last use. A coarser time saves
// writes to the disk.
const touchAfter = time.Minute

// store is the directory of a cache. Links that lead out of it are not followed.
type store struct {
	dir  string
	root *os.Root
	// complete is false for a directory that cannot be written and lacks parts. Its
	// content can still be read, as in an image that was built with a full cache.
	complete bool
}

// item is a file of the store.
type item struct {
	part, name string
	size       int64
	used       time.Time // last use
}

// openStore opens the directory of a cache, and creates what is missing. A
// directory that others may change is refused: records have no digest.
func openStore(dir string) (*store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o002 != 0 || isForeign(info) {
		return nil, fmt.Errorf("%s: other users can write to it", dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	s := &store{dir: dir, root: root, complete: true}
	for _, part := range []string{blobs, records, locks, inUse, tmp} {
		if err := root.MkdirAll(part, 0o700); err != nil && !isReadOnly(err) {
			root.Close() // nothing was written
			return nil, fmt.Errorf("%s: %w", dir, err)
		} else if err != nil {
			s.complete = false
		}
	}
	// Locks are opened by their path, without the root.
	if info, err := root.Lstat(locks); err == nil && !info.IsDir() {
		root.Close() // nothing was written
		return nil, fmt.Errorf("%s is not a directory", filepath.Join(dir, locks))
	}
	return s, nil
}

// isReadOnly reports whether err means that a directory cannot be written.
func isReadOnly(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, errReadOnly)
}

func (s *store) close() { s.root.Close() } // no file is open for writing

// read returns the content of a file and its time of the last use.
func (s *store) read(part, name string) ([]byte, time.Time, error) {
	// A link or a pipe is not content. Opening a pipe would wait for a writer.
	info, err := s.root.Lstat(part + "/" + name)
	if err != nil {
		return nil, time.Time{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSize {
		return nil, time.Time{}, fs.ErrInvalid
	}
	data, err := s.root.ReadFile(part + "/" + name)
	return data, info.ModTime(), err
}

// has reports whether a file exists.
func (s *store) has(part, name string) bool {
	info, err := s.root.Lstat(part + "/" + name)
	return err == nil && info.Mode().IsRegular()
}

// touch records a use of a file now. used is the time of the last one.
func (s *store) touch(part, name string, used, now time.Time) {
	if now.Sub(used) >= touchAfter {
		// The time of a file that another process has removed, or that is read-only,
		// doesn't matter.
		_ = s.root.Chtimes(part+"/"+name, now, now)
	}
}

// write creates or replaces a file, in one step for all readers.
func (s *store) write(part, name string, data []byte, now time.Time) error {
	f, err := s.create(tmp)
	if err != nil {
		return err
	}
	written := tmp + "/" + filepath.Base(f.Name())
	_, err = f.Write(data)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = s.root.Chtimes(written, now, now)
	}
	if err == nil {
		// A rename cannot replace a directory.
		if info, statErr := s.root.Lstat(part + "/" + name); statErr == nil && info.IsDir() {
			err = s.root.RemoveAll(part + "/" + name)
		}
	}
	if err == nil {
		err = s.root.Rename(written, part+"/"+name)
	}
	if err != nil {
		_ = s.root.Remove(written) // else an eviction removes it
		return fmt.Errorf("%s: %w", s.dir, withoutPath(err))
	}
	return nil
}

// create creates a file with a random name.
func (s *store) create(part string) (*os.File, error) {
	for {
		name := fmt.Sprintf("%s/%d-%016x", part, os.Getpid(), rand.Uint64())
		f, err := s.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			if err != nil {
				err = fmt.Errorf("%s: %w", s.dir, withoutPath(err))
			}
			return f, err
		}
	}
}

// remove removes a file.
func (s *store) remove(part, name string) error { return s.root.RemoveAll(part + "/" + name) }

// list returns the files of a part. Those that another process removes meanwhile
// are left out.
func (s *store) list(part string) []item {
	dir, err := s.root.Open(part)
	if err != nil {
		return nil
	}
	defer dir.Close() // it is only read
	var items []item
	for {
		entries, err := dir.ReadDir(1000)
		for _, e := range entries {
			if info, err := e.Info(); err == nil {
				items = append(items, item{part: part, name: e.Name(), size: info.Size(), used: info.ModTime()})
			}
		}
		if err != nil || len(entries) == 0 {
			if err != io.EOF {
				return nil // unreadable: nothing is known of it
			}
			return items
		}
	}
}

// lockFile returns the path of the lock with a name.
func (s *store) lockFile(name string) string { return filepath.Join(s.dir, locks, name+".lock") }

// removeLock removes the file of a lock. A file that stays is removed by an
// eviction.
func (s *store) removeLock(name string) { _ = s.root.Remove(locks + "/" + name + ".lock") }

// withoutPath returns the cause of a *fs.PathError or *os.LinkError: their paths
// are relative to the directory, or temporary.
func withoutPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	var l *os.LinkError
	if errors.As(err, &l) {
		return l.Err
	}
	return err
}

// Counters count the uses of one or several caches, for metrics. The zero value is
// ready to use.
type Counters struct{ hits, misses, evictions atomic.Int64 }

// Stats are the numbers of a cache at a time.
type Stats struct {
	// Hits are the calls of Get that found the content, Misses those that downloaded
	// it, and Evictions the contents that were removed, all since the counters were
	// created.
	Hits, Misses, Evictions int64
	// Entries and SizeBytes are the number and the size of the contents on disk.
	Entries, SizeBytes int64
}

func (c *Counters) stats() Stats {
	return Stats{Hits: c.hits.Load(), Misses: c.misses.Load(), Evictions: c.evictions.Load()}
}
