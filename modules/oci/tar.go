package oci

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// maxTarFiles limits the number of files in an archive.
const maxTarFiles = 100_000

// section is the place of a file in an archive, in bytes.
type section struct{ start, size int64 }

// openTar finds the files of a tar archive. Only regular files count: there are no
// links in a layout. The closer closes the archive.
func openTar(file string) (opener, io.Closer, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	sections, err := readSections(f)
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return func(name string) (io.ReadCloser, error) {
		s, ok := sections[name]
		if !ok {
			return nil, notExist(name)
		}
		return io.NopCloser(io.NewSectionReader(f, s.start, s.size)), nil
	}, f, nil
}

// readSections returns the regular files of a tar archive by their clean names.
func readSections(f *os.File) (map[string]section, error) {
	sections := map[string]section{}
	for r, n := tar.NewReader(f), 0; ; n++ {
		h, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return sections, nil
		case err != nil:
			return nil, &Error{Cause: WrongType, Message: "not a tar archive of an OCI layout: " + oneLine(err.Error()), Err: err}
		case n == maxTarFiles:
			return nil, &Error{Cause: TooLarge, Message: fmt.Sprintf("the archive has more than %d files", maxTarFiles)}
		case h.Typeflag != tar.TypeReg:
			continue
		}
		// The reader of package tar does not read ahead, so the file begins here.
		start, err := f.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, err
		}
		name := path.Clean(h.Name)
		if _, twice := sections[name]; twice {
			return nil, &Error{Cause: WrongType, Message: fmt.Sprintf("the archive has two files %q", name)}
		}
		sections[name] = section{start: start, size: h.Size}
	}
}

// writeTar writes the regular files below dir to a tar archive. The archive depends on
// nothing but their names and bytes.
func writeTar(w io.Writer, dir string) error {
	var names []string
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			names = append(names, p)
		}
		return err
	})
	if err != nil {
		return err
	}
	slices.Sort(names)
	t := tar.NewWriter(w)
	for _, name := range names {
		if err := addFile(t, dir, name); err != nil {
			return err
		}
	}
	return t.Close()
}

// addFile adds a file below dir to a tar archive.
func addFile(t *tar.Writer, dir, name string) error {
	rel, err := filepath.Rel(dir, name)
	if err != nil {
		return err
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() // it is only read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	h := &tar.Header{Typeflag: tar.TypeReg, Name: filepath.ToSlash(rel), Size: info.Size(), Mode: 0o644, Format: tar.FormatUSTAR}
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.Copy(t, f)
	return err
}
