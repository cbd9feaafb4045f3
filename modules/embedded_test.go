package modules_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/artifact"
	"github.com/pequod-io/pequod/modules/vet"
	"github.com/pequod-io/pequod/render"
)

// TestPublishEmbedded checks that the embedded modules can be published as they are, that
// the program has the files of its source tree, and that the graphs of the published
// module have the same digest as those of the embedded one.
func TestPublishEmbedded(t *testing.T) {
	for _, name := range modules.Embedded() {
		dir := t.TempDir()
		files, err := modules.EmbeddedSource(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(dir, files); err != nil {
			t.Fatal(err)
		}
		img, info, err := artifact.Pack(t.Context(), dir, "v0.1.0")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if want := "pequod.io/platforms/" + name + "@v0"; info.Path != want || info.Metadata == nil {
			t.Errorf("%s has path %s, want %s, and metadata %v", name, info.Path, want, info.Metadata)
		}
		_, source, err := artifact.Pack(t.Context(), filepath.Join("platform", name), "v0.1.0")
		if err != nil || source.Digest != info.Digest {
			t.Errorf("%s has digest %s, and its directory %s, %v", name, info.Digest, source.Digest, err)
		}
		_, read, err := artifact.Open(img)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fs.Stat(read, "tests"); err != nil {
			t.Error(err)
		}
		compiled := platform(t, v1alpha1.CueRef{Type: v1alpha1.CueRefEmbedded, Ref: name}, "", "", v1alpha1.TransformSpec{})
		if published := moduleIn(t, dir); published.Module.Digest != compiled.Module.Digest {
			t.Errorf("%s: digest %s, and embedded %s", name, published.Module.Digest, compiled.Module.Digest)
		}
		images, err := vet.Images(t.Context(), compiled, render.Limits{})
		if err != nil || !slices.Equal(images, info.Metadata.Images) {
			t.Errorf("%s has the images %q, and lists %q, %v", name, images, info.Metadata.Images, err)
		}
		if compiled.Module.Name != name {
			t.Errorf("embedded:%s has the name %s in graphs", name, compiled.Module.Name)
		}
	}
}
