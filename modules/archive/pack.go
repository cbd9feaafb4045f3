package archive

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// File is a file of an archive.
type File struct {
	// Name is the path of the file, slash-separated and relative to the root of the archive.
	Name string
	Data []byte
}

// ValidName reports whether a name is a relative path that doesn't lead out of the archive. Names
// with a backslash are invalid, too, because Flux refuses them.
func ValidName(name string) bool {
	return fs.ValidPath(name) && name != "." && !strings.ContainsAny(name, "\\\x00")
}

// Pack returns files as tar+gzip, sorted by name. All have mode 0644 and the given time, and
// belong to user and group 0. There are no entries for directories: both Flux and Argo CD make
// the directories of files. Pack refuses invalid names, and two files with one name.
//
// The same files and time give the same bytes on every machine that has the same version of
// Go. Another version may compress them to other bytes.
func Pack(files []File, modified time.Time) ([]byte, error) {
	sorted := slices.SortedFunc(slices.Values(files), func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	var buf bytes.Buffer
	// Archives are packed once and fetched often.
	zw, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	tw := tar.NewWriter(zw)
	for i, f := range sorted {
		switch {
		case !ValidName(f.Name):
			return nil, fmt.Errorf("%q is not the name of a file in an archive", f.Name)
		case i > 0 && sorted[i-1].Name == f.Name:
			return nil, fmt.Errorf("two files with the name %s", f.Name)
		}
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
