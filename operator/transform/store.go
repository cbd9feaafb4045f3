package transform

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/operator/fetch"
)

// store keeps the sources of the last good version of each platform on disk. It is a cache:
// errors are ignored, and what it lacks is fetched.
type store struct{ dir string }

// path returns the file of a Transform.
func (s store) path(uid types.UID) string { return filepath.Join(s.dir, string(uid)) }

// save replaces the sources of a Transform. A file with other contents than its name's never
// exists, because it is renamed when it is complete.
func (s store) save(uid types.UID, digest string, sources []byte) {
	if s.dir == "" {
		return
	}
	if old := s.read(uid); old != nil && old.Digest == digest {
		return
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return
	}
	f, err := os.CreateTemp(s.dir, ".new-*")
	if err != nil {
		return
	}
	_, err = f.Write(sources)
	if errClose := f.Close(); err == nil {
		err = errClose
	}
	if err == nil {
		err = os.Rename(f.Name(), s.path(uid))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
}

// read returns the sources of a Transform, or nil.
func (s store) read(uid types.UID) *fetch.Fetched {
	if s.dir == "" {
		return nil
	}
	sources, err := os.ReadFile(s.path(uid))
	if err != nil {
		return nil
	}
	return &fetch.Fetched{Sources: sources, Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(sources))}
}

// remove removes the sources of a Transform.
func (s store) remove(uid types.UID) {
	if s.dir != "" {
		_ = os.Remove(s.path(uid))
	}
}
