package artifact

import (
	"archive/zip"
	"io"
	"io/fs"
	"sync"

	"github.com/klauspost/compress/flate"
)

// zipFS is the file system of an archive whose names and sizes were checked. Package
// zip fails when a file is longer than its entry promises, or has another checksum.
type zipFS struct{ *zip.Reader }

// ReadFile implements fs.ReadFileFS. Reading all of a file also checks its checksum.
func (z zipFS) ReadFile(name string) ([]byte, error) {
	f, err := z.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it is only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	data, err := readSized(f, info.Size(), maxFile+1)
	if err == nil && len(data) > maxFile {
		err = tooLarge(name, maxFile)
	}
	return data, err
}

// Glob implements fs.GlobFS, which CUE's loader requires.
func (z zipFS) Glob(pattern string) ([]string, error) { return fs.Glob(z.Reader, pattern) }

// inflater decompresses the files of one archive. Its readers have tables and a window of
// 50 KB together, so they are used again.
type inflater struct{ idle sync.Pool }

// open implements zip.Decompressor. The library needs half the time of compress/flate.
func (i *inflater) open(r io.Reader) io.ReadCloser {
	f, ok := i.idle.Get().(io.ReadCloser)
	if !ok {
		return &inflated{flate.NewReader(r), i}
	}
	// Reset fails for dictionaries only.
	_ = f.(flate.Resetter).Reset(r, nil)
	return &inflated{f, i}
}

// inflated is a file of an archive. Closing it, once, returns its reader.
type inflated struct {
	io.ReadCloser
	inflater *inflater
}

// Close implements io.Closer.
func (f *inflated) Close() error {
	err := f.ReadCloser.Close()
	f.inflater.idle.Put(f.ReadCloser)
	return err
}
