package archive

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// Options select the files of an archive that are read, and limit what is read. All limits are
// required.
type Options struct {
	// Keep reports whether the file with a name is wanted; nil means that all are. Other entries,
	// such as links, are skipped and count only against Read.
	Keep func(name string) bool
	// Bytes limits the sum of the wanted files, and Files their number.
	Bytes int64
	Files int
	// Read limits the unpacked bytes of the whole archive, including headers, padding and entries
	// that are skipped.
	Read int64
}

// DefectError reports an archive that was refused for its content.
type DefectError struct{ defect string }

func (e *DefectError) Error() string { return e.defect }

// defect returns a DefectError.
func defect(format string, args ...any) error {
	return &DefectError{fmt.Sprintf(format, args...)}
}

// Unpack reads the wanted files of a tar+gzip, sorted by name. Entries of directories are
// skipped. The error is a [DefectError] if the archive is refused; other errors are those of
// reading, decompressing and tar.
func Unpack(r io.Reader, o Options) ([]File, error) {
	zr, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	u := unpacking{options: o, names: map[string]string{}}
	limited := &limit{reader: zr, left: o.Read, err: tooLarge(o.Read)}
	for tr := tar.NewReader(limited); ; {
		header, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := u.add(header, tr); err != nil {
			return nil, err
		}
	}
	// The checksum of gzip comes after the end of the archive.
	if _, err := io.Copy(io.Discard, limited); err != nil {
		return nil, err
	}
	slices.SortFunc(u.files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	return u.files, u.checkDirectories()
}

// unpacking is the state of [Unpack].
type unpacking struct {
	options Options
	files   []File
	bytes   int64
	// names are the names of files by the form in which file systems that ignore case compare them.
	names map[string]string
}

// add adds an entry if it is wanted.
func (u *unpacking) add(header *tar.Header, content io.Reader) error {
	name := strings.TrimPrefix(header.Name, "./")
	if header.Typeflag == tar.TypeDir || u.options.Keep != nil && !u.options.Keep(name) {
		return nil
	}
	other := u.names[fold(name)]
	switch {
	case header.Typeflag != tar.TypeReg:
		return defect("%q in it is not a regular file", header.Name)
	case !ValidName(name):
		return defect("%q in it is not a relative path", header.Name)
	case other == name:
		return defect("two files %q in it", name)
	case other != "":
		return defect("%q and %q in it are one file on systems that ignore case", other, name)
	case header.Size > u.options.Bytes-u.bytes:
		return tooLarge(u.options.Bytes)
	case len(u.files) == u.options.Files:
		return defect("it has more than %d files", u.options.Files)
	}
	data, err := io.ReadAll(content)
	if err != nil {
		return fmt.Errorf("%q in it: %w", name, err)
	}
	u.bytes += header.Size
	u.names[fold(name)] = name
	u.files = append(u.files, File{name, data})
	return nil
}

// checkDirectories refuses a file whose name is that of the directory of another one.
func (u *unpacking) checkDirectories() error {
	for _, f := range u.files {
		for dir := path.Dir(f.Name); dir != "."; dir = path.Dir(dir) {
			if other := u.names[fold(dir)]; other != "" {
				return defect("%q and %q in it cannot both be files", other, f.Name)
			}
		}
	}
	return nil
}

// fold returns a name in a form that is equal for names that differ in case only.
func fold(name string) string { return strings.ToLower(strings.ToUpper(name)) }

// tooLarge is the error of an archive that exceeds a limit of bytes.
func tooLarge(limit int64) error { return defect("more than %d MiB of files", limit>>20) }

// limit is a reader that fails after a number of bytes.
type limit struct {
	reader io.Reader
	left   int64
	err    error
}

func (l *limit) Read(p []byte) (int, error) {
	n, err := l.reader.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, l.err
	}
	return n, err
}
