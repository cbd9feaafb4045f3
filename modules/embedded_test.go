package modules_test

import (
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/artifact"
	"github.com/pequod-io/pequod/modules/oci"
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

// TestInspectReadsLittle checks that a catalogue reads the manifest and the module file of
// a published platform, and not its archive.
func TestInspectReadsLittle(t *testing.T) {
	var sent atomic.Int64
	files := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		files.ServeHTTP(counted{w, &sent}, r)
	}))
	t.Cleanup(server.Close)
	ref, err := oci.ParseRef("oci://" + strings.TrimPrefix(server.URL, "http://") + "/webservice:v0.1.0")
	if err != nil {
		t.Fatal(err)
	}
	client, err := oci.New(oci.Options{Keychain: authn.NewMultiKeychain()})
	if err != nil {
		t.Fatal(err)
	}
	img, packed, err := artifact.Pack(t.Context(), filepath.Join("platform", "webservice"), "v0.1.0")
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Write(t.Context(), ref, img); err != nil {
		t.Fatal(err)
	}
	sent.Store(0)
	if img, err = client.Image(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	info, err := artifact.Inspect(img)
	if err != nil || len(info.Metadata.Kinds) != 1 {
		t.Fatalf("%+v, %v", info, err)
	}
	if got := sent.Load(); got == 0 || got > 1500 || packed.Size < 10*got {
		t.Errorf("%d bytes were read of a module with %d", got, packed.Size)
	}
}

// counted counts the bytes of answers.
type counted struct {
	http.ResponseWriter
	sent *atomic.Int64
}

func (c counted) Write(p []byte) (int, error) {
	c.sent.Add(int64(len(p)))
	return c.ResponseWriter.Write(p)
}
