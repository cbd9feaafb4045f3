package bundle_test

import (
	"archive/tar"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pequod-io/pequod/internal/ociimage"
	"github.com/pequod-io/pequod/modules/bundle"
)

// FuzzFiles reads bundles with any layer. Those that are accepted have files with different names, all
// of them inside of a directory into which they would be written.
func FuzzFiles(f *testing.F) {
	f.Add(archive(f, regular("web.yaml", "a: 1\n"), regular("a/b.yaml", "b: 1\n")))
	f.Add(archive(f, regular("../web.yaml", "")))
	f.Add(archive(f, regular("a/./web.yaml", ""), regular("a//web.yaml", "")))
	f.Add(archive(f, entry{Header: tar.Header{Typeflag: tar.TypeSymlink, Name: "web.yaml", Linkname: "/etc/passwd"}}))
	f.Add([]byte{0x1f, 0x8b})
	f.Fuzz(func(t *testing.T, layer []byte) {
		img, err := ociimage.New(ociimage.Artifact{
			Config: ociimage.Blob{MediaType: bundle.ConfigType, Data: []byte("{}")},
			Layers: []ociimage.Blob{{MediaType: bundle.LayerType, Data: layer}},
		})
		if err != nil {
			t.Fatal(err)
		}
		files, err := bundle.Files(img)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, file := range files {
			if name := strings.ToLower(file.Name); !filepath.IsLocal(file.Name) || strings.Contains(file.Name, `\`) || seen[name] {
				t.Errorf("the bundle has %q", file.Name)
			} else {
				seen[name] = true
			}
		}
	})
}
