package cache

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestDamaged checks that an entry which is not the content is downloaded again.
func TestDamaged(t *testing.T) {
	const data = "the content"
	for name, damage := range map[string]func(t *testing.T, file string){
		"truncated": func(t *testing.T, file string) { check(t, os.Truncate(file, 3)) },
		"empty":     func(t *testing.T, file string) { check(t, os.Truncate(file, 0)) },
		"changed":   func(t *testing.T, file string) { check(t, os.WriteFile(file, []byte("the c0ntent"), 0o600)) },
		"link out":  func(t *testing.T, file string) { replaceByLink(t, file, outside(t, data)) },
		"dangling":  func(t *testing.T, file string) { replaceByLink(t, file, "nowhere") },
		"directory": func(t *testing.T, file string) {
			check(t, os.Remove(file))
			check(t, os.MkdirAll(filepath.Join(file, "x"), 0o700))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var s source
			s.get(t, Open(Options{Dir: dir}), data)
			damage(t, blobFile(dir, data))
			c := Open(Options{Dir: dir, Warn: func(err error) { t.Error(err) }})
			s.get(t, c, data)
			s.get(t, c, data)
			if s.fetched != 2 {
				t.Errorf("%d downloads, not 2", s.fetched)
			}
			info, err := os.Lstat(blobFile(dir, data))
			if err != nil || !info.Mode().IsRegular() {
				t.Errorf("the entry is %v, %v", info, err)
			}
		})
	}
}

// check fails the test on an error.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// outside returns a file with data that is not in a cache.
func outside(t *testing.T, data string) string {
	file := filepath.Join(t.TempDir(), "file")
	check(t, os.WriteFile(file, []byte(data), 0o600))
	return file
}

func replaceByLink(t *testing.T, file, target string) {
	check(t, os.Remove(file))
	check(t, os.Symlink(target, file))
}

// TestLinks checks that nothing is written or removed through links in the
// directory.
func TestLinks(t *testing.T) {
	for _, part := range []string{"blobs", blobs, locks, inUse, tmp, records} {
		t.Run(part, func(t *testing.T) {
			dir, target := t.TempDir(), t.TempDir()
			precious := filepath.Join(target, hexOf([]byte("precious")))
			check(t, os.WriteFile(precious, []byte("precious"), 0o600))
			long := time.Now().Add(-1000 * time.Hour)
			check(t, os.Chtimes(precious, long, long))
			check(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, part)), 0o700))
			check(t, os.Symlink(target, filepath.Join(dir, part)))
			var s source
			warnings := 0
			c := Open(Options{Dir: dir, MaxBytes: 1, MaxAge: time.Hour, Warn: func(error) { warnings++ }})
			s.get(t, c, "content")
			c.Remember("key", "value")
			c.Evict(t.Context())
			c.Close()
			entries, err := os.ReadDir(target)
			check(t, err)
			if len(entries) != 1 || warnings != 1 {
				t.Errorf("%d files outside, %d warnings", len(entries), warnings)
			}
		})
	}
}

// TestMismatch checks that content which isn't the expected one is neither returned
// nor stored.
func TestMismatch(t *testing.T) {
	for name, sent := range map[string]string{"short": "conten", "long": "content and more", "other": "c0ntent"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c := Open(Options{Dir: dir})
			var s source
			for _, size := range []int64{7, -1} {
				data, err := c.Get(t.Context(), digestOf("content"), size, s.serve(sent))
				var mismatch *MismatchError
				if !errors.As(err, &mismatch) || mismatch.Digest != digestOf("content") {
					t.Errorf("Get() = %q, %v", data, err)
				}
			}
			if c.Stats().Entries != 0 || s.fetched != 2 {
				t.Errorf("%+v after %d downloads", c.Stats(), s.fetched)
			}
		})
	}
}

func TestRefusedDigests(t *testing.T) {
	c := Open(Options{Dir: t.TempDir()})
	for _, digest := range []string{
		"", "sha256:", "sha256:../../../../etc/passwd", "md5:" + strings.Repeat("a", 64),
		"sha256:" + strings.Repeat("A", 64), "sha256:" + strings.Repeat("a", 63), "sha512:" + strings.Repeat("a", 128),
	} {
		if _, err := c.Get(t.Context(), digest, -1, offline(t)); err == nil {
			t.Errorf("%q is accepted", digest)
		}
		if c.Has(digest) {
			t.Errorf("Has(%q)", digest)
		}
	}
	if _, err := c.Get(t.Context(), digestOf("a"), maxSize+1, offline(t)); err == nil {
		t.Error("any size is accepted")
	}
}

// TestUnusable checks that Get works, with one warning, where the directory doesn't.
func TestUnusable(t *testing.T) {
	for name, dir := range map[string]func(t *testing.T) string{
		"file":       func(t *testing.T) string { return outside(t, "") },
		"below file": func(t *testing.T) string { return filepath.Join(outside(t, ""), "cache") },
		"world-writable": func(t *testing.T) string {
			dir := t.TempDir()
			check(t, os.Chmod(dir, 0o777))
			return dir
		},
		// What fails is the write, as on a full disk.
		"unwritable": func(t *testing.T) string {
			dir := t.TempDir()
			Open(Options{Dir: dir}).directory().close()
			check(t, os.Remove(filepath.Join(dir, tmp)))
			check(t, os.WriteFile(filepath.Join(dir, tmp), nil, 0o600))
			return dir
		},
	} {
		t.Run(name, func(t *testing.T) {
			var warnings []error
			c := Open(Options{Dir: dir(t), Warn: func(err error) { warnings = append(warnings, err) }})
			var s source
			s.get(t, c, "a")
			s.get(t, c, "b")
			s.get(t, c, "a")
			c.Remember("key", "value")
			if _, ok := c.Recall("key"); ok || c.Has(digestOf("a")) {
				t.Error("something was kept")
			}
			c.Close()
			if s.fetched != 3 || len(warnings) != 1 {
				t.Errorf("%d downloads, warnings %v", s.fetched, warnings)
			}
		})
	}
	var s source
	c := Open(Options{Warn: func(err error) { t.Error(err) }})
	s.get(t, c, "a")
	c.Close()
}

// TestReadOnly checks that content of a directory that cannot be written is used
// without a warning.
func TestReadOnly(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root can write everywhere")
	}
	dir := t.TempDir()
	var s source
	s.get(t, Open(Options{Dir: dir}), "a")
	check(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, _ error) error {
		if d.IsDir() {
			return os.Chmod(path, 0o500)
		}
		return nil
	}))
	t.Cleanup(func() {
		check(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, _ error) error { return os.Chmod(path, 0o700) }))
	})
	c := Open(Options{Dir: dir, Warn: func(err error) { t.Error(err) }})
	s.get(t, c, "a")
	if s.fetched != 1 {
		t.Errorf("%d downloads, not 1", s.fetched)
	}
}
