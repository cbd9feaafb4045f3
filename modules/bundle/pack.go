package bundle

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"
)

// The limits of bundles that are read. A graph has at most 1 MiB, and a large
// repository some thousand graphs of a few KiB.
const (
	// maxPacked limits the layer, in bytes.
	maxPacked = 64 << 20
	// maxUnpacked limits the sum of the files, in bytes.
	maxUnpacked = 256 << 20
	// maxFiles limits the number of files.
	maxFiles = 50_000
)

// errTooLarge is the error of archives that exceed maxUnpacked. Headers and padding
// count, too, against twice the limit, so that an archive of nothing else ends.
var errTooLarge = fmt.Errorf("more than %d MiB of files", maxUnpacked>>20)

// pack returns the files as tar+gzip, in the given order. All files have mode 0644
// and the given time, and belong to user and group 0. There are no entries for
// directories: both Flux and Argo CD make the directories of files.
func pack(files []File, modified time.Time) ([]byte, error) {
	var buf bytes.Buffer
	// Bundles are packed once and fetched often.
	zw, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	tw := tar.NewWriter(zw)
	for _, f := range files {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: f.Name, Size: int64(len(f.Data)), Mode: 0o644, ModTime: modified}
		if err := tw.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := tw.Write(f.Data); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(tw.Close(), zw.Close()); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// unpack reads a tar+gzip. Entries of directories are skipped.
func unpack(r io.Reader) ([]File, error) {
	zr, err := gzip.NewReader(r)
	if err != nil {
		return nil, defect("reading its layer: %v", err)
	}
	var files []File
	names := map[string]string{} // by the form in which file systems without case compare them
	left := int64(maxUnpacked)
	limited := &limit{reader: zr, left: 2 * maxUnpacked}
	for tr := tar.NewReader(limited); ; {
		header, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, defect("reading its layer: %v", err)
		}
		name := strings.TrimPrefix(header.Name, "./")
		switch {
		case header.Typeflag == tar.TypeDir:
			continue
		case header.Typeflag != tar.TypeReg:
			return nil, defect("%q in it is not a regular file", header.Name)
		case !validName(name):
			return nil, defect("%q in it is not a relative path", header.Name)
		case names[fold(name)] == name:
			return nil, defect("two files %q in it", name)
		case names[fold(name)] != "":
			return nil, defect("%q and %q in it are one file on systems that ignore case", names[fold(name)], name)
		case header.Size > left:
			return nil, defect("%v", errTooLarge)
		case len(files) == maxFiles:
			return nil, defect("it has more than %d files", maxFiles)
		}
		data, err := io.ReadAll(tr)
		if err != nil {
			return nil, defect("reading %q in it: %v", name, err)
		}
		left -= header.Size
		names[fold(name)] = name
		files = append(files, File{name, data})
	}
	// The checksum stands behind the end of the archive.
	if _, err := io.Copy(io.Discard, limited); err != nil {
		return nil, defect("reading its layer: %v", err)
	}
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	for _, f := range files {
		for dir := path.Dir(f.Name); dir != "."; dir = path.Dir(dir) {
			if other := names[fold(dir)]; other != "" {
				return nil, defect("%q and %q in it cannot both be files", other, f.Name)
			}
		}
	}
	return files, nil
}

// fold returns a name in a form that is equal for names that differ in case only.
func fold(name string) string { return strings.ToLower(strings.ToUpper(name)) }

// limit is a reader that fails after a number of bytes.
type limit struct {
	reader io.Reader
	left   int64
}

func (l *limit) Read(p []byte) (int, error) {
	n, err := l.reader.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}
