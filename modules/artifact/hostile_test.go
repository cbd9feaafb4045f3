package artifact_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/pequod-io/pequod/modules/artifact"
)

const validFile = `module: "example.com/shop@v1", language: version: "v0.17.0"`

// layer is a layer of a hostile artifact.
type layer struct {
	mediaType, data string
}

// image returns an artifact with a config of the given type.
func image(t testing.TB, config string, layers ...layer) v1.Image {
	t.Helper()
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.MediaType(config))
	for _, l := range layers {
		var err error
		img, err = mutate.AppendLayers(img, static.NewLayer([]byte(l.data), types.MediaType(l.mediaType)))
		if err != nil {
			t.Fatal(err)
		}
	}
	return img
}

// module returns the artifact with an archive and a module file.
func moduleImage(t testing.TB, archive, file string) v1.Image {
	t.Helper()
	return image(t, "application/vnd.cue.module.v1+json", layer{"application/zip", archive}, layer{"application/vnd.cue.modulefile.v1", file})
}

// archive returns a zip archive of files, in pairs of name and text, and the module file.
func archive(t testing.TB, change func(*zip.FileHeader), files ...string) string {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for i, files := 0, append([]string{"cue.mod/module.cue", validFile}, files...); i < len(files); i += 2 {
		h := &zip.FileHeader{Name: files[i], Method: zip.Deflate}
		if change != nil && i > 0 {
			change(h)
		}
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

// many returns n empty files.
func many(n int) []string {
	var files []string
	for i := range n {
		files = append(files, fmt.Sprintf("f%d.cue", i), "")
	}
	return files
}

// TestHostileArtifacts checks what is said about artifacts that are no modules, or
// modules that were made to do harm.
func TestHostileArtifacts(t *testing.T) {
	const zipType, fileType = "application/zip", "application/vnd.cue.modulefile.v1"
	cue := "application/vnd.cue.module.v1+json"
	link := func(h *zip.FileHeader) { h.SetMode(fs.ModeSymlink | 0o777) }
	large := strings.Repeat("x", 8<<20)
	var bomb []string
	for i := range 40 {
		bomb = append(bomb, fmt.Sprintf("f%d.cue", i), large)
	}
	for name, test := range map[string]struct {
		img  v1.Image
		want string
	}{
		"helm":         {image(t, "application/vnd.cncf.helm.config.v1+json", layer{"application/vnd.cncf.helm.chart.content.v1.tar+gzip", ""}), "not a CUE module but a Helm chart"},
		"timoni":       {image(t, "application/vnd.timoni.config.v1+json"), "not a CUE module but a timoni module"},
		"bundle":       {image(t, "application/vnd.cncf.flux.config.v1+json"), "not a CUE module but a bundle of manifests"},
		"our bundle":   {image(t, "application/vnd.pequod.bundle.config.v1+json"), "not a CUE module but a bundle of manifests"},
		"container":    {image(t, "application/vnd.oci.image.config.v1+json"), "not a CUE module but a container image"},
		"signature":    {image(t, "application/vnd.oci.image.config.v1+json", layer{"application/vnd.dev.cosign.simplesigning.v1+json", ""}), "not a CUE module but a signature"},
		"unknown":      {image(t, "application/vnd.example+json"), `not a CUE module but an artifact of type "application/vnd.example+json"`},
		"no layers":    {image(t, cue), "not a valid CUE module: 0 layers, want 2"},
		"three layers": {image(t, cue, layer{zipType, "a"}, layer{fileType, "b"}, layer{"c", "c"}), "not a valid CUE module: 3 layers, want 2"},
		"wrong zip":    {image(t, cue, layer{"application/gzip", "a"}, layer{fileType, "b"}), `not a valid CUE module: layer 1 has type "application/gzip", want application/zip`},
		"wrong file":   {image(t, cue, layer{zipType, "a"}, layer{"text/plain", "b"}), `not a valid CUE module: layer 2 has type "text/plain", want application/vnd.cue.modulefile.v1`},
		"no CUE":       {moduleImage(t, "", "module: \x00"), "not a valid CUE module: invalid module file syntax: illegal character NUL (and 1 more errors)"},
		"no path":      {moduleImage(t, "", `language: version: "v0.17.0"`), ""},
		"no archive":   {moduleImage(t, "text", validFile), "not a valid CUE module: the archive: zip: not a valid zip file"},
		"huge archive": {moduleImage(t, strings.Repeat(" ", 64<<20+1), validFile), "the archive of the module is larger than 64 MiB"},
		"huge file":    {moduleImage(t, "", strings.Repeat(" ", 1<<20+1)), "cue.mod/module.cue is larger than 1 MiB"},
		"other file":   {moduleImage(t, archive(t, nil), validFile+"\n"), "not a valid CUE module: cue.mod/module.cue in the archive of example.com/shop differs from layer 2"},
		"parent":       {moduleImage(t, archive(t, nil, "../a.cue", ""), validFile), `not a valid CUE module: the archive has file "../a.cue": malformed file path "../a.cue": invalid path element ".."`},
		"absolute":     {moduleImage(t, archive(t, nil, "/a.cue", ""), validFile), `not a valid CUE module: the archive has file "/a.cue": malformed file path "/a.cue": empty path element`},
		"backslash":    {moduleImage(t, archive(t, nil, `..\a.cue`, ""), validFile), `not a valid CUE module: the archive has file "..\\a.cue": malformed file path "..\\a.cue": invalid char '\\'`},
		"twice":        {moduleImage(t, archive(t, nil, "a.cue", "", "A.cue", ""), validFile), `not a valid CUE module: the archive has file "A.cue": case-insensitive file name collision: "a.cue" and "A.cue"`},
		"same name":    {moduleImage(t, archive(t, nil, "a.cue", "", "a.cue", ""), validFile), ""},
		"directory":    {moduleImage(t, archive(t, nil, "a", "", "a/b.cue", ""), validFile), ""},
		"device":       {moduleImage(t, archive(t, func(h *zip.FileHeader) { h.SetMode(fs.ModeDevice | 0o644) }, "a.cue", ""), validFile), `not a valid CUE module: the archive has file "a.cue", which is a link or a device`},
		"cut off":      {moduleImage(t, archive(t, nil, "a.cue", "")[:200], validFile), "not a valid CUE module: the archive: zip: not a valid zip file"},
		"nested":       {moduleImage(t, archive(t, nil, "a/cue.mod/module.cue", ""), validFile), `not a valid CUE module: the archive has file "a/cue.mod/module.cue": cue.mod not in module root directory`},
		"link":         {moduleImage(t, archive(t, link, "a.cue", "/etc/passwd"), validFile), `not a valid CUE module: the archive has file "a.cue", which is a link or a device`},
		"replacements": {moduleImage(t, archive(t, nil, "cue.mod/local-module.cue", ""), validFile), ""},
		"bomb":         {moduleImage(t, archive(t, nil, bomb...), validFile), "the unpacked module is larger than 256 MiB"},
		"one large":    {moduleImage(t, archive(t, nil, "a.cue", large+"x"), validFile), "file a.cue is larger than 8 MiB"},
		"many files":   {moduleImage(t, archive(t, nil, many(10_000)...), validFile), "the module has more than 10000 files"},
		"bad metadata": {moduleImage(t, "", validFile+`, custom: "pequod.io@v0": kinds: 1`), `not a valid CUE module: custom: "pequod.io@v0": field kinds has the wrong type`},
	} {
		_, _, err := artifact.Open(test.img)
		var not *artifact.NotModuleError
		var limit *artifact.LimitError
		if !errors.As(err, &not) && !errors.As(err, &limit) {
			t.Errorf("%s: %v", name, err)
		} else if test.want != "" && err.Error() != test.want || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v\nwant %s", name, err, test.want)
		}
	}
}

// TestLyingArchive checks that a file that is longer than its entry promises is not
// read: the limits are compared with the promised sizes.
func TestLyingArchive(t *testing.T) {
	data := []byte(archive(t, nil, "a.cue", strings.Repeat("x", 1<<20)))
	entry := bytes.LastIndex(data, []byte("PK\x01\x02")) // of a.cue
	binary.LittleEndian.PutUint32(data[entry+24:], 10)   // the uncompressed size
	_, files, err := artifact.Open(moduleImage(t, string(data), validFile))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := fs.ReadFile(files, "a.cue"); err == nil {
		t.Errorf("read %d bytes", len(text))
	}
}
