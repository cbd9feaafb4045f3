package cache

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// errPatience reports that a lock was held for too long.
var errPatience = errors.New("another process holds the lock")

// lock locks a file, which it creates if necessary, and returns a function that
// unlocks it. It excludes other processes and other goroutines. It gives up when
// ctx ends or patience is over. The operating system unlocks the files of a process
// that is killed.
func lock(ctx context.Context, file string, patience time.Duration) (unlock func(), err error) {
	return lockWith(ctx, file, os.O_RDWR|os.O_CREATE, patience)
}

// lockShared is like lock, except that any number of callers can hold the lock
// together.
func lockShared(ctx context.Context, file string, patience time.Duration) (unlock func(), err error) {
	return lockWith(ctx, file, os.O_RDONLY|os.O_CREATE, patience)
}

// lockWith locks a file that is opened with flags.
func lockWith(ctx context.Context, file string, flags int, patience time.Duration) (func(), error) {
	type result struct {
		file *lockedfile.File
		err  error
	}
	// The lock cannot be waited for with a context. A goroutine waits, and gives the
	// lock back if the caller has left.
	locked, left := make(chan result), make(chan struct{})
	go func() {
		f, err := lockedfile.OpenFile(file, flags, 0o600)
		select {
		case locked <- result{f, err}:
		case <-left:
			if err == nil {
				_ = f.Close() // unlocks
			}
		}
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case r := <-locked:
		if r.err != nil {
			return nil, r.err
		}
		return func() { _ = r.file.Close() }, nil
	case <-ctx.Done():
		close(left)
		return nil, ctx.Err()
	case <-timer.C:
		close(left)
		return nil, errPatience
	}
}
