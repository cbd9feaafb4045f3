package vendored

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/pequod-io/pequod/modules/lock"
)

// maxFile limits the size of a file that is read, in bytes. The archives of modules have a
// lower limit of their own.
const maxFile = 256 << 20

// Tree is the directory with the modules of a lock. Any number of goroutines may use it.
// A nil Tree has no modules.
type Tree struct {
	dir     string
	entries []entry

	mu sync.Mutex // guards the fields below
	// files are the files of the blobs of verified modules, by digest.
	files map[string]string
	// verified has the result of [Tree.verify] by the digest of a manifest.
	verified map[string]error
}

// Open returns the modules of a lock that are in a directory. It returns nil if there is no
// directory or no lock. Files are read and compared when they are asked for.
func Open(dir string, l *lock.File) (*Tree, error) {
	if l == nil {
		return nil, nil
	}
	if _, err := os.Stat(filepath.Join(dir, modules)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	all, err := entries(l)
	return newTree(dir, all), err
}

func newTree(dir string, all []entry) *Tree {
	return &Tree{dir: dir, entries: all, files: map[string]string{}, verified: map[string]error{}}
}

// Has reports whether the directory has an artifact that the lock names by the digest of its
// manifest.
func (t *Tree) Has(digest string) bool {
	_, ok := t.find(digest)
	return ok
}

// find returns the module with a digest if its manifest is in the directory.
func (t *Tree) find(digest string) (entry, bool) {
	if t == nil {
		return entry{}, false
	}
	for _, e := range t.entries {
		if e.Digest == digest {
			_, err := os.Lstat(t.name(e.file + manifestFile))
			return e, err == nil
		}
	}
	return entry{}, false
}

// Get returns the manifest of a module that the lock names, or a blob of a module whose
// manifest was returned before, by its digest. It returns false if the directory does not
// have it. Its errors are a [ChangedError], a [MissingError] or those of reading files.
func (t *Tree) Get(digest string) ([]byte, bool, error) {
	if t == nil {
		return nil, false, nil
	}
	if e, ok := t.find(digest); ok {
		if err := t.once(e); err != nil {
			return nil, false, err
		}
		data, err := t.read(e.file+manifestFile, digest)
		return data, err == nil, err
	}
	t.mu.Lock()
	file, ok := t.files[digest]
	t.mu.Unlock()
	if !ok {
		return nil, false, nil
	}
	data, err := t.read(file, digest)
	return data, err == nil, err
}

// once verifies a module, and remembers the result.
func (t *Tree) once(e entry) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err, done := t.verified[e.Digest]; done {
		return err
	}
	files, err := t.verify(e)
	for digest, file := range files {
		t.files[digest] = file
	}
	t.verified[e.Digest] = err
	return err
}

// verify compares the extracted files of a module with the lock, so that CUE and Pequod see
// the same, and returns the files of its blobs by their digests.
func (t *Tree) verify(e entry) (map[string]string, error) {
	manifest, err := t.read(e.file+manifestFile, e.Digest)
	if err != nil {
		return nil, err
	}
	m, err := v1.ParseManifest(bytes.NewReader(manifest))
	if err != nil || len(m.Layers) != 2 {
		return nil, fmt.Errorf("%s: not the manifest of a module", t.name(e.file+manifestFile))
	}
	content, err := lock.Content(os.DirFS(t.name(e.extracted)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &MissingError{t.name(e.extracted)}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.name(e.extracted), err)
	}
	if content != e.Content {
		return nil, &ChangedError{t.name(e.extracted), content, e.Content}
	}
	return map[string]string{m.Layers[0].Digest.String(): e.file + archiveFile, m.Layers[1].Digest.String(): e.file + moduleFile}, nil
}

// read returns the content of a file with the given digest.
func (t *Tree) read(file, digest string) ([]byte, error) {
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close() // it is only read
	f, err := root.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &MissingError{t.name(file)}
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() // it is only read
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.name(file), err)
	}
	if got := digestOf(data); got != digest {
		return nil, &ChangedError{t.name(file), got, digest}
	}
	return data, nil
}

// name returns the name of a file on disk.
func (t *Tree) name(file string) string { return filepath.Join(t.dir, filepath.FromSlash(file)) }

// Check returns an error if the directory does not have exactly the modules of the lock.
// Files that are not part of modules don't matter.
func (t *Tree) Check() error {
	for _, e := range t.entries {
		if err := t.complete(e); err != nil {
			return err
		}
	}
	stale, err := t.stale()
	if err == nil && len(stale) > 0 {
		return fmt.Errorf("%s is not in pequod.lock; run 'pequod module vendor'", t.name(stale[0]+manifestFile))
	}
	return err
}

// complete returns an error unless all files of a module are there and right.
func (t *Tree) complete(e entry) error {
	files, err := t.verify(e)
	if err != nil {
		return err
	}
	for digest, file := range files {
		if _, err := t.read(file, digest); err != nil {
			return err
		}
	}
	return nil
}

// stale returns the modules in the directory that the lock does not name, as their files
// without the extension.
func (t *Tree) stale() ([]string, error) {
	var names []string
	err := fs.WalkDir(os.DirFS(t.dir), downloads, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		file, isManifest := strings.CutSuffix(name, manifestFile)
		if isManifest && !slices.ContainsFunc(t.entries, func(e entry) bool { return e.file == file }) {
			names = append(names, file)
		}
		return err
	})
	return names, err
}

// digestOf returns the digest of data as sha256:HEX.
func digestOf(data []byte) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256(data))
}
