package modules_test

import (
	"io"
	"io/fs"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/artifact"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/render"
)

// artifacts returns a client for Options.
func artifacts() (oci.Artifacts, error) { return client() }

// client returns a client without credentials.
func client() (*oci.Client, error) {
	return oci.New(oci.Options{Keychain: authn.NewMultiKeychain()})
}

// publish publishes a module of two packages at a place.
func publish(t *testing.T, place, tag string) {
	t.Helper()
	dir := t.TempDir()
	for file, text := range map[string]string{
		"cue.mod/module.cue": `module: "example.com/team/shop@v1", language: version: "v0.17.0", source: kind: "self"`,
		"shop.cue":           "package shop\n#Input: size: int\n#Render: {input: _, output: nodes: {}}\n",
		"sub/sub.cue":        "package sub\n#Input: name: string\n",
	} {
		file = filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	img, _, err := artifact.Pack(t.Context(), dir, "v1.4.0")
	if err != nil {
		t.Fatal(err)
	}
	ref, err := oci.ParseRef(place + ":" + tag)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Write(t.Context(), ref, img); err != nil {
		t.Fatal(err)
	}
}

// TestOpenArtifact opens a published module at every kind of place and evaluates it.
func TestOpenArtifact(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	dir := t.TempDir()
	host := "oci://" + strings.TrimPrefix(server.URL, "http://")
	for _, place := range []string{host + "/team/shop", "oci-layout:" + dir + "/layout", dir + "/shop.oci.tar"} {
		publish(t, place, "v1.4.0")
		ref, err := modules.ParseRef(strings.ReplaceAll(place, dir+"/", "") + ":v1.4.0")
		if err != nil || ref.Type != v1alpha1.CueRefOCI {
			t.Fatalf("%+v, %v", ref, err)
		}
		at, o := modules.Place{BaseDir: dir}, modules.Options{Artifacts: artifacts}
		files, err := modules.Open(t.Context(), ref, at, o)
		if err != nil {
			t.Fatal(err)
		}
		if files.Name != "shop" || files.Version != "v1.4.0" || files.Ref != place+":v1.4.0" || files.Show("a.cue") != "example.com/team/shop@v1.4.0/a.cue" {
			t.Errorf("%s: %+v, %s", place, files, files.Show("a.cue"))
		}
		m, err := render.Load(render.Source{FS: files.FS, Dir: files.Dir, Show: files.Show, Ref: files.Ref, Version: files.Version})
		if err != nil {
			t.Fatal(err)
		}
		if m.Digest == "" {
			t.Error("no digest of the content")
		}
		ref.Path = "sub"
		if files, err = modules.Open(t.Context(), ref, at, o); err != nil || files.Dir != "sub" || files.Name != "sub" {
			t.Errorf("path sub: %+v, %v", files, err)
		}
		if _, err := fs.ReadFile(files.FS, "sub/sub.cue"); err != nil {
			t.Error(err)
		}
		ref.Path = "../secret"
		if _, err := modules.Open(t.Context(), ref, at, o); err == nil || !strings.HasSuffix(err.Error(), `no directory "../secret" in the module`) {
			t.Errorf("path outside: %v", err)
		}
	}
	// CUE would not find a module under a tag of another major version.
	publish(t, host+"/team/shop", "v2.0.0")
	ref := v1alpha1.CueRef{Type: v1alpha1.CueRefOCI, Ref: host + "/team/shop:v2.0.0"}
	_, err := modules.Open(t.Context(), ref, modules.Place{}, modules.Options{Artifacts: artifacts})
	if want := ref.Ref + ": the tag doesn't fit module example.com/team/shop@v1"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
