package outdir

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// lock waits until no other run of this user works on dir. The lock file lies
// in the user's cache and stays there; a killed run holds no lock.
func lock(dir string) (unlock func(), err error) {
	real, err := realPath(dir)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%x.lock", sha256.Sum256([]byte(real)))
	// A container may have no home, or one that can't be written.
	places := []string{filepath.Join(os.TempDir(), fmt.Sprintf("pequod-%d", os.Getuid()), "locks")}
	if cache, err := os.UserCacheDir(); err == nil {
		places = append([]string{filepath.Join(cache, "pequod", "locks")}, places...)
	}
	for _, place := range places {
		if err = os.MkdirAll(place, 0o700); err != nil {
			continue
		}
		if unlock, err = lockedfile.MutexAt(filepath.Join(place, name)).Lock(); err == nil {
			return unlock, nil
		}
	}
	return nil, fmt.Errorf("locking: %w", err)
}

// realPath is the absolute path of dir without symbolic links, also of a
// directory that doesn't exist yet.
func realPath(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	missing := ""
	for {
		real, err := filepath.EvalSymlinks(abs)
		if err == nil {
			return filepath.Join(real, missing), nil
		}
		parent := filepath.Dir(abs)
		if !errors.Is(err, fs.ErrNotExist) || parent == abs {
			return "", err
		}
		abs, missing = parent, filepath.Join(filepath.Base(abs), missing)
	}
}
