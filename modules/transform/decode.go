package transform

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"syscall"

	"github.com/pequod-io/pequod/internal/cuemod"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
	"github.com/pequod-io/pequod/render"
)

// Decode returns the sources that [Sources.Encode] has encoded. They read the files from
// data, which must not be changed. Data that Encode can't have written is an error.
func Decode(data []byte) (*Sources, error) {
	s, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("encoded sources: %w", err)
	}
	return s, nil
}

func decode(data []byte) (*Sources, error) {
	if len(data) > 2*maxEncoded {
		return nil, fmt.Errorf("more than %d bytes", 2*maxEncoded)
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	m, err := readManifest(z)
	if err != nil {
		return nil, err
	}
	if err := checkEntries(z, len(data), len(m.Roots)); err != nil {
		return nil, err
	}
	roots := make([]cuemod.Files, len(m.Roots))
	for i, r := range m.Roots {
		sub, err := fs.Sub(z, strconv.Itoa(i))
		if err != nil {
			return nil, err
		}
		roots[i] = cuemod.Files{FS: rootFS{sub, r.Unreadable}, Show: r.show()}
	}
	s := &Sources{Name: m.Name, From: m.From, Spec: m.Spec.spec()}
	for i, e := range m.Modules {
		src, err := e.source(roots)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			s.Module = src
		} else {
			s.Policies = append(s.Policies, src)
		}
	}
	return s, nil
}

// readManifest reads the first entry.
func readManifest(z *zip.Reader) (*manifest, error) {
	if len(z.File) == 0 || z.File[0].Name != manifestName {
		return nil, fmt.Errorf("the first entry is not %s", manifestName)
	}
	f, err := z.File[0].Open()
	if err != nil {
		return nil, err
	}
	defer f.Close() // it is only read
	m := &manifest{}
	d := json.NewDecoder(f)
	d.DisallowUnknownFields()
	if err := d.Decode(m); err != nil {
		return nil, fmt.Errorf("%s: %w", manifestName, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: has more than one value", manifestName)
	}
	if len(m.Modules) == 0 {
		return nil, fmt.Errorf("%s: has no module", manifestName)
	}
	return m, nil
}

// checkEntries checks the names and sizes of all entries. The first one is the manifest.
// size is that of the archive: without compression, entries that overlap would be larger in
// sum.
func checkEntries(z *zip.Reader, size, roots int) error {
	if len(z.File) > maxEntries {
		return fmt.Errorf("more than %d entries", maxEntries)
	}
	seen := map[string]bool{}
	sum := uint64(0)
	for i, f := range z.File {
		name := strings.TrimSuffix(f.Name, "/")
		number, _, _ := strings.Cut(name, "/")
		n, err := strconv.Atoi(number)
		valid := err == nil && n >= 0 && n < roots && strconv.Itoa(n) == number && fs.ValidPath(name) && !strings.Contains(name, `\`)
		if !valid && i > 0 {
			return fmt.Errorf("%q is not the name of an entry", f.Name)
		}
		if seen[name] {
			return fmt.Errorf("two entries %q", name)
		}
		seen[name] = true
		if f.Method != zip.Store {
			return fmt.Errorf("%s: is compressed", f.Name)
		}
		if f.UncompressedSize64 > uint64(size) {
			return fmt.Errorf("%s: is larger than the archive", f.Name)
		}
		if sum += f.UncompressedSize64; sum > uint64(size) {
			return errors.New("entries overlap")
		}
	}
	return nil
}

// source returns a module. It reads the list of modules that it imports from its module
// file, as in the process that opened it.
func (e encodedModule) source(roots []cuemod.Files) (Source, error) {
	root := func(i int) (cuemod.Files, error) {
		if i < 0 || i >= len(roots) {
			return cuemod.Files{}, fmt.Errorf("%s: no root %d", e.Path, i)
		}
		return roots[i], nil
	}
	main, err := root(e.Root)
	if err != nil {
		return Source{}, err
	}
	src := Source{Path: e.Path, Name: e.Name, Source: render.Source{
		FS: main.FS, Dir: e.Dir, Show: main.Show, Ref: e.Ref, Version: e.Version, Digest: e.Digest,
	}}
	if e.Blocks != nil {
		src.Place = func(shown string) (yamlfile.Block, bool) {
			block, ok := e.Blocks[shown]
			return block, ok
		}
	}
	if !e.Resolved {
		return src, nil
	}
	list, err := cuemod.Read(main.FS, e.Local)
	if err != nil || list == nil {
		return Source{}, fmt.Errorf("%s: no list of modules: %w", e.Path, err)
	}
	src.Modules = &cuemod.Resolved{List: list, Modules: map[cuemod.Location]cuemod.Files{}}
	for _, location := range list.Locations() {
		if i, ok := e.Imports[location.Module.Path()]; ok {
			if src.Modules.Modules[location], err = root(i); err != nil {
				return Source{}, err
			}
		}
	}
	if len(src.Modules.Modules) != len(e.Imports) {
		return Source{}, fmt.Errorf("%s: has other modules than its module file lists", e.Path)
	}
	return src, nil
}

// show returns the function for the user's names of files.
func (r encodedRoot) show() func(string) string {
	switch {
	case r.ShownIn != "":
		return func(file string) string { return path.Join(r.ShownIn, file) }
	case r.Shown == nil:
		return nil
	}
	return func(file string) string {
		file = strings.TrimPrefix(file, "/")
		if shown, ok := r.Shown[file]; ok {
			return shown
		}
		return path.Join(r.Shown["."], file)
	}
}

// rootFS is the file system of a root.
type rootFS struct {
	fs.FS
	unreadable map[string]fileError
}

// Open implements fs.FS. The error of a file that does not exist has the text of files on
// disk.
func (r rootFS) Open(name string) (fs.File, error) {
	f, err := r.FS.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOENT}
	}
	return f, err
}

// ReadFile implements fs.ReadFileFS. It returns the error of files that were unreadable when
// they were encoded.
func (r rootFS) ReadFile(name string) ([]byte, error) {
	if failed, ok := r.unreadable[name]; ok {
		return nil, failed.err()
	}
	return fs.ReadFile(r.FS, name)
}
