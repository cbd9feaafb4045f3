package bundle_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/pequod-io/pequod/internal/ociimage"
	"github.com/pequod-io/pequod/modules/bundle"
)

// entry is an entry of a hostile archive.
type entry struct {
	tar.Header
	data string
}

// archive returns a tar+gzip.
func archive(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var buf bytes.Buffer
	zw := gzip.NewWriter(&buf)
	tw := tar.NewWriter(zw)
	for _, e := range entries {
		e.Size = int64(len(e.data))
		if err := tw.WriteHeader(&e.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(tw, e.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// regular returns an entry of a file.
func regular(name, data string) entry {
	return entry{tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644}, data}
}

// TestHostileBundles checks that reading refuses what would leave the directory into
// which a bundle is unpacked, or fill the memory.
func TestHostileBundles(t *testing.T) {
	link := entry{Header: tar.Header{Typeflag: tar.TypeSymlink, Name: "web.yaml", Linkname: "/etc/passwd"}}
	hard := entry{Header: tar.Header{Typeflag: tar.TypeLink, Name: "web.yaml", Linkname: "other.yaml"}}
	device := entry{Header: tar.Header{Typeflag: tar.TypeChar, Name: "web.yaml"}}
	good := archive(t, regular("web.yaml", "a: 1\n"))
	for name, test := range map[string]struct {
		layer []byte
		want  string // after "not a bundle: "
	}{
		"no archive":          {[]byte("apiVersion: v1\n"), "reading its layer: gzip: invalid header"},
		"no tar":              {zipped(t, strings.Repeat("x", 1024)), "reading its layer: archive/tar: invalid tar header"},
		"cut off":             {good[:len(good)-10], "reading its layer: unexpected EOF"},
		"parent":              {archive(t, regular("../web.yaml", "")), `"../web.yaml" in it is not a relative path`},
		"parent inside":       {archive(t, regular("a/../../web.yaml", "")), `"a/../../web.yaml" in it is not a relative path`},
		"absolute":            {archive(t, regular("/etc/passwd", "")), `"/etc/passwd" in it is not a relative path`},
		"backslash":           {archive(t, regular(`..\web.yaml`, "")), `"..\\web.yaml" in it is not a relative path`},
		"link":                {archive(t, link), `"web.yaml" in it is not a regular file`},
		"hard link":           {archive(t, hard), `"web.yaml" in it is not a regular file`},
		"device":              {archive(t, device), `"web.yaml" in it is not a regular file`},
		"twice":               {archive(t, regular("web.yaml", "a"), regular("./web.yaml", "b")), `two files "web.yaml" in it`},
		"case":                {archive(t, regular("a/web.yaml", "a"), regular("a/Web.YAML", "b")), `"a/web.yaml" and "a/Web.YAML" in it are one file on systems that ignore case`},
		"fifo":                {archive(t, entry{Header: tar.Header{Typeflag: tar.TypeFifo, Name: "web.yaml"}}), `"web.yaml" in it is not a regular file`},
		"file as a directory": {archive(t, regular("web", "a"), regular("web/a.yaml", "b")), `"web" and "web/a.yaml" in it cannot both be files`},
		"bomb":                {bomb(t, 300), "more than 256 MiB of files"},
		"empty entries":       {archive(t, many(50_001)...), "it has more than 50000 files"},
	} {
		t.Run(name, func(t *testing.T) {
			img, err := ociimage.New(ociimage.Artifact{
				Config: ociimage.Blob{MediaType: bundle.ConfigType, Data: []byte("{}")},
				Layers: []ociimage.Blob{{MediaType: bundle.LayerType, Data: test.layer}},
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := bundle.Files(img); err == nil || err.Error() != "not a bundle: "+test.want {
				t.Errorf("error %v; want %s", err, test.want)
			}
		})
	}
}

// TestNotBundles checks the errors for other artifacts. An index is refused by package
// oci.
func TestNotBundles(t *testing.T) {
	blob := func(mediaType types.MediaType) ociimage.Blob {
		return ociimage.Blob{MediaType: mediaType, Data: []byte("x")}
	}
	for want, layers := range map[string][]ociimage.Blob{
		"not a bundle: it has 0 layers, want 1": nil,
		"not a bundle: it has 2 layers, want 1": {blob("application/zip"), blob("application/vnd.cue.modulefile.v1")},
		`not a bundle: its layer has type "application/vnd.cncf.flux.content.v1.tar+gzip", want application/vnd.oci.image.layer.v1.tar+gzip`: {
			blob("application/vnd.cncf.flux.content.v1.tar+gzip"),
		},
	} {
		img, err := ociimage.New(ociimage.Artifact{Config: ociimage.Blob{MediaType: "application/json", Data: []byte("{}")}, Layers: layers})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bundle.Files(img); err == nil || err.Error() != want {
			t.Errorf("error %v; want %s", err, want)
		}
	}
}

// zipped returns data compressed by gzip.
func zipped(t *testing.T, data string) []byte {
	t.Helper()
	var buf bytes.Buffer
	zw := gzip.NewWriter(&buf)
	if _, err := io.WriteString(zw, data); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// bomb returns an archive whose only header promises a file of some MiB.
func bomb(t *testing.T, mib int64) []byte {
	t.Helper()
	var buf bytes.Buffer
	zw := gzip.NewWriter(&buf)
	if err := tar.NewWriter(zw).WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "web.yaml", Size: mib << 20}); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// many returns n empty files.
func many(n int) []entry {
	var entries []entry
	for i := range n {
		entries = append(entries, regular(fmt.Sprintf("%d.yaml", i), ""))
	}
	return entries
}
