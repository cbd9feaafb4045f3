package archive_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/modules/archive"
)

// large are options without limits that matter.
var large = archive.Options{Bytes: 1 << 30, Files: 1000, Read: 1 << 30}

// packed returns an archive.
func packed(t testing.TB, files ...archive.File) []byte {
	t.Helper()
	data, err := archive.Pack(files, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// entries returns an archive with any entries. The text of each is its size in bytes.
func entries(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var buf bytes.Buffer
	zw := gzip.NewWriter(&buf)
	tw := tar.NewWriter(zw)
	for _, h := range headers {
		if err := tw.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(tw, zeros{}, h.Size); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(tw.Close(), zw.Close()); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// zeros is an endless file.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// names returns the names of files.
func names(files []archive.File) []string {
	var all []string
	for _, f := range files {
		all = append(all, f.Name)
	}
	return all
}

// The order of the files doesn't matter, and reading returns what was packed.
func TestPack(t *testing.T) {
	files := []archive.File{{Name: "b/web.yaml", Data: []byte("b: 1\n")}, {Name: "a.yaml"}, {Name: strings.Repeat("long/", 60) + "c.yaml", Data: []byte("c: 1\n")}}
	data := packed(t, files...)
	got, err := archive.Unpack(bytes.NewReader(data), large)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a.yaml", "b/web.yaml", files[2].Name}, names(got)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if string(got[1].Data) != "b: 1\n" || string(got[2].Data) != "c: 1\n" {
		t.Errorf("other content: %q", got)
	}
	slices.Reverse(files)
	if !bytes.Equal(data, packed(t, files...)) {
		t.Error("another order of files gives other bytes")
	}
	for want, files := range map[string][]archive.File{
		`"../a.yaml" is not the name of a file in an archive`: {{Name: "../a.yaml"}},
		`"" is not the name of a file in an archive`:          {{}},
		"two files with the name a.yaml":                      {{Name: "a.yaml"}, {Name: "b.yaml"}, {Name: "a.yaml"}},
	} {
		if _, err := archive.Pack(files, time.Time{}); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// What is not wanted is skipped, however large, many or hostile it is.
func TestUnwanted(t *testing.T) {
	headers := []tar.Header{
		{Name: "apps", Typeflag: tar.TypeDir},
		{Name: "./apps/web.yaml", Typeflag: tar.TypeReg, Size: 10},
		{Name: "film.mp4", Typeflag: tar.TypeReg, Size: 50 << 20},
		{Name: "current", Typeflag: tar.TypeSymlink, Linkname: "/etc"},
		{Name: "../apps/web.yaml", Typeflag: tar.TypeReg},
		{Name: "a/../apps/web.yaml", Typeflag: tar.TypeReg},
		{Name: `docs\a.md`, Typeflag: tar.TypeReg},
		{Name: "README", Typeflag: tar.TypeReg},
		{Name: "readme", Typeflag: tar.TypeReg},
	}
	o := archive.Options{Bytes: 1 << 20, Files: 1, Read: 51 << 20, Keep: func(name string) bool { return strings.HasPrefix(name, "apps/") }}
	got, err := archive.Unpack(bytes.NewReader(entries(t, headers...)), o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]archive.File{{Name: "apps/web.yaml", Data: make([]byte, 10)}}, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for name, test := range map[string]struct {
		header tar.Header
		want   string
	}{
		"another file":  {tar.Header{Name: "apps/b.yaml", Typeflag: tar.TypeReg}, "it has more than 1 files"},
		"a large file":  {tar.Header{Name: "apps/b.yaml", Typeflag: tar.TypeReg, Size: 1 << 20}, "more than 1 MiB of files"},
		"a link":        {tar.Header{Name: "apps/b.yaml", Typeflag: tar.TypeSymlink, Linkname: "web.yaml"}, `"apps/b.yaml" in it is not a regular file`},
		"a parent":      {tar.Header{Name: "apps/../b.yaml", Typeflag: tar.TypeReg}, `"apps/../b.yaml" in it is not a relative path`},
		"another case":  {tar.Header{Name: "apps/Web.yaml", Typeflag: tar.TypeReg}, `"apps/web.yaml" and "apps/Web.yaml" in it are one file on systems that ignore case`},
		"too much else": {tar.Header{Name: "more.mp4", Typeflag: tar.TypeReg, Size: 1 << 20}, "more than 51 MiB of files"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := archive.Unpack(bytes.NewReader(entries(t, append(headers, test.header)...)), o)
			var refused *archive.DefectError
			if !errors.As(err, &refused) || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// An archive that can't be read is no defect of what it has.
func TestUnreadable(t *testing.T) {
	data := packed(t, archive.File{Name: "a.yaml", Data: []byte("a: 1\n")})
	failing := errors.New("connection reset")
	for name, test := range map[string]struct {
		reader io.Reader
		want   string
	}{
		"no gzip":  {strings.NewReader("a: 1\n and more"), "gzip: invalid header"},
		"cut off":  {bytes.NewReader(data[:len(data)-4]), "unexpected EOF"},
		"checksum": {bytes.NewReader(append(slices.Clone(data[:len(data)-8]), make([]byte, 8)...)), "gzip: invalid checksum"},
		"failing":  {io.MultiReader(bytes.NewReader(data[:20]), errorReader{failing}), "connection reset"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := archive.Unpack(test.reader, large)
			var refused *archive.DefectError
			if err == nil || err.Error() != test.want || errors.As(err, &refused) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

type errorReader struct{ error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.error }
