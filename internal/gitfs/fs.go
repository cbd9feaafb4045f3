package gitfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
)

// Sub implements fs.SubFS. Links that leave dir are errors in the result.
func (t *Tree) Sub(dir string) (fs.FS, error) {
	f, err := t.find("sub", dir, true)
	if err == nil && !f.IsDir() {
		err = t.failed("sub", dir, notDirectory(f))
	}
	if err != nil {
		return nil, err
	}
	shown := func(name string) string { return t.shown(path.Join(dir, name)) }
	return New(t.objects, f.object, shown), nil
}

// notDirectory returns the error about a file that is used as a directory.
func notDirectory(f file) error {
	if f.mode == fs.ModeIrregular {
		return errSubmodule
	}
	return errors.New("not a directory")
}

// ReadFile implements fs.ReadFileFS.
func (t *Tree) ReadFile(name string) ([]byte, error) {
	f, err := t.find("read", name, true)
	if err != nil {
		return nil, err
	}
	if !f.mode.IsRegular() {
		return nil, t.failed("read", name, errors.New("not a regular file"))
	}
	data, err := t.content(f)
	if err != nil {
		return nil, t.failed("read", name, err)
	}
	if len(data) < maxPointer && bytes.HasPrefix(data, []byte("version https://git-lfs.github.com/spec/")) {
		return nil, t.failed("read", name, errors.New("is a pointer to a Git LFS file, which is not fetched; commit the file itself, without LFS"))
	}
	return data, nil
}

// maxPointer is the limit for the size of pointers of Git LFS, in bytes, by its specification.
const maxPointer = 1024

// ReadDir implements fs.ReadDirFS.
func (t *Tree) ReadDir(name string) ([]fs.DirEntry, error) {
	dir, err := t.find("readdir", name, true)
	if err != nil {
		return nil, err
	}
	if !dir.IsDir() {
		return nil, t.failed("readdir", name, notDirectory(dir))
	}
	files, err := t.list(dir)
	if err != nil {
		return nil, t.failed("readdir", name, err)
	}
	entries := make([]fs.DirEntry, len(files))
	for i, f := range files {
		entries[i] = f
	}
	return entries, nil
}

// Stat implements fs.StatFS.
func (t *Tree) Stat(name string) (fs.FileInfo, error) {
	f, err := t.find("stat", name, true)
	if err != nil {
		return nil, err
	}
	f.name = path.Base(name) // a link keeps its own name
	return f, nil
}

// Lstat implements fs.ReadLinkFS.
func (t *Tree) Lstat(name string) (fs.FileInfo, error) {
	f, err := t.find("lstat", name, false)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// ReadLink implements fs.ReadLinkFS.
func (t *Tree) ReadLink(name string) (string, error) {
	f, err := t.find("readlink", name, false)
	if err == nil && f.Type() != fs.ModeSymlink {
		err = t.failed("readlink", name, fs.ErrInvalid)
	}
	if err != nil {
		return "", err
	}
	target, err := t.content(f)
	return string(target), err
}

// Open implements fs.FS. It reads the file at once.
func (t *Tree) Open(name string) (fs.File, error) {
	info, err := t.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		entries, err := t.ReadDir(name)
		return &openDir{info, entries}, err
	}
	data, err := t.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return &openFile{bytes.NewReader(data), info}, nil
}

// openFile is an open file. Its content is in memory.
type openFile struct {
	*bytes.Reader
	info fs.FileInfo
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

// openDir is an open directory, with the entries that were not read yet.
type openDir struct {
	info    fs.FileInfo
	entries []fs.DirEntry
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *openDir) Close() error               { return nil }
func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.Name(), Err: errors.New("is a directory")}
}

// ReadDir implements fs.ReadDirFile.
func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		n = len(d.entries)
	} else if len(d.entries) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.entries))
	entries := d.entries[:n]
	d.entries = d.entries[n:]
	return entries, nil
}
