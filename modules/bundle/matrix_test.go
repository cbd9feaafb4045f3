package bundle_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cuelabs.dev/go/oci/ociregistry/ociclient"
	"cuelang.org/go/mod/modregistry"
	"cuelang.org/go/mod/module"
	"cuelang.org/go/mod/modzip"
	fluxoci "github.com/fluxcd/pkg/oci"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/pequod-io/pequod/modules/artifact"
	"github.com/pequod-io/pequod/modules/bundle"
	"github.com/pequod-io/pequod/modules/oci"
)

// argoTypes are the types of layers that Argo CD takes by default.
var argoTypes = []string{
	"application/vnd.oci.image.layer.v1.tar", "application/vnd.oci.image.layer.v1.tar+gzip",
	"application/vnd.cncf.helm.chart.content.v1.tar+gzip",
}

// argoCD checks an artifact by the rules of Argo CD's OCI source: exactly one layer with
// content, of a type that is allowed.
func argoCD(img v1.Image) error {
	manifest, err := img.Manifest()
	if err != nil {
		return err
	}
	var content []string
	for _, l := range manifest.Layers {
		if t := string(l.MediaType); slices.Contains(argoTypes, t) {
			content = append(content, t)
		}
	}
	if len(content) != 1 || len(manifest.Layers) > 10 {
		return fmt.Errorf("expected only a single oci content layer, got %d", len(content))
	}
	return nil
}

// TestMatrix writes modules and bundles with our packages and modules with CUE's, and reads
// each with all readers. A reader takes exactly what is made for it: CUE and we take
// modules, Flux, Argo CD and we take bundles, and neither is mistaken for the other. Flux
// can also copy a module as it is, without unpacking it, for tools that mirror.
func TestMatrix(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	client, err := oci.New(oci.Options{Keychain: authn.NewMultiKeychain()})
	if err != nil {
		t.Fatal(err)
	}
	reg, err := ociclient.New(host, &ociclient.Options{Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	cue := modregistry.NewClient(reg)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"cue.mod/module.cue": "module: \"example.com/NAME@v1\"\nlanguage: version: \"v0.17.0\"\nsource: kind: \"self\"\n",
		"shop.cue":           "package shop\n",
	} {
		for _, module := range []string{"ours", "theirs"} {
			file := filepath.Join(dir, module, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(strings.Replace(text, "NAME", module, 1)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	ref := func(name, tag string) oci.Ref {
		return oci.Ref{Kind: oci.Registry, Host: host, Repository: "example.com/" + name, Tag: tag}
	}

	// Written by us.
	ours, _, err := artifact.Pack(t.Context(), filepath.Join(dir, "ours"), "v1.0.0")
	if err == nil {
		err = client.Write(t.Context(), ref("ours", "v1.0.0"), ours)
	}
	if err != nil {
		t.Fatal(err)
	}
	// A bundle with a tag that CUE would look for.
	if err := client.Write(t.Context(), ref("bundle", "v1.0.0"), newBundle(t, parts(), options)); err != nil {
		t.Fatal(err)
	}
	// Written by CUE.
	version := module.MustNewVersion("example.com/theirs@v1", "v1.0.0")
	var buf bytes.Buffer
	err = errors.Join(modzip.CreateFromDir(&buf, version, filepath.Join(dir, "theirs")))
	if err == nil {
		err = cue.PutModule(t.Context(), version, bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	}
	if err != nil {
		t.Fatal(err)
	}

	flux := fluxoci.NewClient(fluxoci.DefaultOptions())
	for _, test := range []struct {
		name     string
		isModule bool
	}{{"ours", true}, {"theirs", true}, {"bundle", false}} {
		img, err := client.Image(t.Context(), ref(test.name, "v1.0.0"))
		if err != nil {
			t.Fatal(err)
		}
		readers := map[string]struct {
			takes bool
			read  func() error
		}{
			"we, as a module": {test.isModule, func() error { _, _, err := artifact.Open(img); return err }},
			"we, as a bundle": {!test.isModule, func() error { _, err := bundle.Files(img); return err }},
			"CUE": {test.isModule, func() error {
				m, err := cue.GetModule(t.Context(), module.MustNewVersion("example.com/"+test.name+"@v1", "v1.0.0"))
				if err != nil {
					return err
				}
				r, err := m.GetZip(t.Context())
				if err != nil {
					return err
				}
				_, err = io.Copy(io.Discard, r)
				return errors.Join(err, r.Close())
			}},
			"Flux": {!test.isModule, func() error {
				_, err := flux.Pull(t.Context(), host+"/example.com/"+test.name+":v1.0.0", t.TempDir(), fluxoci.WithPullLayerType(fluxoci.LayerTypeTarball))
				return err
			}},
			"Flux, as a copy": {true, func() error {
				file := filepath.Join(t.TempDir(), "layer")
				if _, err := flux.Pull(t.Context(), host+"/example.com/"+test.name+":v1.0.0", file, fluxoci.WithPullLayerType(fluxoci.LayerTypeStatic)); err != nil {
					return err
				}
				got, err := os.ReadFile(file)
				if err != nil {
					return err
				}
				if test.name == "theirs" && !bytes.Equal(got, buf.Bytes()) {
					return errors.New("other bytes")
				}
				return nil
			}},
			"Argo CD": {!test.isModule, func() error { return argoCD(img) }},
		}
		for reader, r := range readers {
			if err := r.read(); (err == nil) != r.takes {
				t.Errorf("%s, read by %s: taken %t, want %t: %v", test.name, reader, err == nil, r.takes, err)
			}
		}
	}
}
