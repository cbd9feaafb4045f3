package worker

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/pequod-io/pequod/operator/worker/protocol"
)

// store keeps encoded sources in a directory, one file for each digest. Whoever reads a file
// compares it with its digest.
type store struct{ dir string }

// newStore returns an empty store in a directory, which it creates.
func newStore(dir string) (store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return store{}, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return store{}, err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return store{}, err
			}
		}
	}
	return store{dir}, nil
}

// prefix is the beginning of the names of files in a store.
const prefix = "sources-"

// put stores sources, which must have the digest.
func (s store) put(digest string, sources []byte) error {
	sum := sha256.Sum256(sources)
	if got := "sha256:" + hex.EncodeToString(sum[:]); got != digest {
		return fmt.Errorf("sources have the digest %s, not %s", got, digest)
	}
	f, err := os.CreateTemp(s.dir, prefix+"tmp-")
	if err != nil {
		return err
	}
	_, err = f.Write(sources)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), s.path(digest))
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error is the cause
	}
	return err
}

// path returns the path of sources.
func (s store) path(digest string) string {
	return filepath.Join(s.dir, prefix+strings.TrimPrefix(digest, "sha256:"))
}

// remove removes sources. It is no error if there are none.
func (s store) remove(digest string) { _ = os.Remove(s.path(digest)) }

// copySources writes the sources of a platform as a frame.
func (s store) copySources(digest string, to io.Writer) error {
	f, err := os.Open(s.path(digest))
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := protocol.WriteLength(to, info.Size()); err != nil {
		return err
	}
	_, err = io.CopyN(to, f, info.Size())
	return err
}
