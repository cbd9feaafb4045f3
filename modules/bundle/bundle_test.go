package bundle_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	fluxoci "github.com/fluxcd/pkg/oci"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/pequod-io/pequod/modules/bundle"
	"github.com/pequod-io/pequod/modules/oci"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// object returns a file with a ConfigMap. The name of the file is one of
// outdir.Path, where percent signs encode other characters.
func object(file, name string) bundle.File {
	return bundle.File{Name: file, Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n  namespace: shop\n")}
}

// parts are the parts of the bundle of the tests.
func parts() []bundle.Part {
	return []bundle.Part{
		{Name: "crds", Files: []bundle.File{object("_cluster/crd.yaml", "definition")}},
		{Name: "rbac"},
		{Name: "graphs", Files: []bundle.File{
			object("shop/web.yaml", "web"),
			object("_cluster/a%3ab.yaml", "colon"),
			object("shop/"+strings.Repeat("long", 40)+".yaml", "long"),
		}},
	}
}

// options are those of the bundle of the tests.
var options = bundle.Options{
	Created:  time.Date(2026, 11, 23, 5, 30, 0, 999, time.FixedZone("", 3600)),
	Revision: "main@sha1:2bfa1e0a6d9ab1b8d0c6b7a3cd0cbf1e5d7f2a11",
	Source:   "https://git.example.com/shop/deploy",
}

// newBundle returns a bundle.
func newBundle(t *testing.T, parts []bundle.Part, o bundle.Options) v1.Image {
	t.Helper()
	img, err := bundle.New(parts, o)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// digestOf returns the digest of an artifact.
func digestOf(t *testing.T, img v1.Image) string {
	t.Helper()
	d, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d.String()
}

// TestManifest compares the manifest of a bundle, and so all of its bytes, with a
// golden file. A new version of Go may change the digest of the layer; a change of
// ours must not, because it would make a difference of every bundle.
func TestManifest(t *testing.T) {
	raw, err := newBundle(t, parts(), options).RawManifest()
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := json.Indent(&got, append(raw, '\n'), "", "  "); err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "manifest.json")
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
}

// TestDeterministic checks what the digest of a bundle depends on.
func TestDeterministic(t *testing.T) {
	want := digestOf(t, newBundle(t, parts(), options))
	shuffled := parts()
	slices.Reverse(shuffled[2].Files)
	zone := options
	zone.Created = options.Created.UTC().Add(999 * time.Millisecond / 2)
	ordered := parts()
	slices.Reverse(ordered)
	later := options
	later.Created = options.Created.Add(time.Second)
	for name, test := range map[string]struct {
		parts []bundle.Part
		o     bundle.Options
		equal bool
	}{
		"again":                     {parts(), options, true},
		"other order of files":      {shuffled, options, true},
		"other time zone":           {parts(), zone, true},
		"other order of the parts":  {ordered, options, false},
		"other time":                {parts(), later, false},
		"no commit":                 {parts(), bundle.Options{Created: options.Created}, false},
		"neither commit nor a time": {parts(), bundle.Options{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := digestOf(t, newBundle(t, test.parts, test.o)); (got == want) != test.equal {
				t.Errorf("digest %s; the other is %s", got, want)
			}
		})
	}
}

// TestNewRefuses checks that names that other tools would read differently, or not at
// all, are errors.
func TestNewRefuses(t *testing.T) {
	one := func(name string) []bundle.Part {
		return []bundle.Part{{Name: "graphs", Files: []bundle.File{object(name, "web")}}}
	}
	for want, parts := range map[string][]bundle.Part{
		`a bundle without files`: {{Name: "graphs"}},
		`two files with the name graphs/web.yaml`: {{Name: "graphs", Files: []bundle.File{
			object("web.yaml", "a"), object("web.yaml", "b"),
		}}},
		`"../web.yaml" is not the name of a manifest in a bundle`:               one("../web.yaml"),
		`"/web.yaml" is not the name of a manifest in a bundle`:                 one("/web.yaml"),
		`"shop\\web.yaml" is not the name of a manifest in a bundle`:            one(`shop\web.yaml`),
		`"shop/kustomization.yaml" is not the name of a manifest in a bundle`:   one("shop/kustomization.yaml"),
		`"." is not the name of another directory of a bundle`:                  {{Name: ".", Files: one("web.yaml")[0].Files}},
		`"a/b" is not the name of another directory of a bundle`:                {{Name: "a/b", Files: one("web.yaml")[0].Files}},
		`"graphs" is not the name of another directory of a bundle`:             append(one("a.yaml"), one("b.yaml")...),
		`"kustomization.yaml" is not the name of another directory of a bundle`: {{Name: "kustomization.yaml", Files: one("web.yaml")[0].Files}},
	} {
		if _, err := bundle.New(parts, bundle.Options{}); err == nil || err.Error() != want {
			t.Errorf("error %v; want %s", err, want)
		}
	}
}

// TestFiles checks that reading returns what was packed.
func TestFiles(t *testing.T) {
	files, err := bundle.Files(newBundle(t, parts(), options))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	want := []string{
		"crds/_cluster/crd.yaml", "crds/kustomization.yaml",
		"graphs/_cluster/a%3ab.yaml", "graphs/kustomization.yaml",
		"graphs/shop/" + strings.Repeat("long", 40) + ".yaml", "graphs/shop/web.yaml",
		"kustomization.yaml",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Fatalf("files (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(string(parts()[2].Files[0].Data), string(files[5].Data)); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
}

// built returns the names of the objects that kustomize builds of a directory.
func built(t *testing.T, dir string) []string {
	t.Helper()
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatalf("kustomize build %s: %v", dir, err)
	}
	var names []string
	for _, r := range made.Resources() {
		names = append(names, r.GetName())
	}
	return names
}

// TestFlux pulls a bundle with Flux's client, as `flux pull artifact` and
// source-controller do, and builds it with kustomize, as kustomize-controller does.
func TestFlux(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	place := strings.TrimPrefix(server.URL, "http://") + "/shop/deploy:1.4.0"
	client, err := oci.New(oci.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ref, err := oci.ParseRef("oci://" + place)
	if err != nil {
		t.Fatal(err)
	}
	img := newBundle(t, parts(), options)
	if err := client.Write(t.Context(), ref, img); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	meta, err := fluxoci.NewClient(fluxoci.DefaultOptions()).Pull(t.Context(), place, dir)
	if err != nil {
		t.Fatal(err)
	}
	if meta.Revision != options.Revision || meta.Source != options.Source || meta.Created != "2026-11-23T04:30:00Z" || !strings.HasSuffix(meta.Digest, digestOf(t, img)) {
		t.Errorf("metadata %+v", meta)
	}
	if diff := cmp.Diff([]string{"definition", "colon", "long", "web"}, built(t, dir)); diff != "" {
		t.Errorf("objects of the bundle (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"colon", "long", "web"}, built(t, filepath.Join(dir, "graphs"))); diff != "" {
		t.Errorf("objects of a directory (-want +got):\n%s", diff)
	}
	// What was pulled is a bundle again, with the same digest.
	pulled, err := client.Image(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	files, err := bundle.Files(pulled)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.Name)))
		if err != nil || !bytes.Equal(data, f.Data) {
			t.Errorf("%s: Flux has another file: %v", f.Name, err)
		}
	}
}

// TestArgoCD checks a bundle by the rules of Argo CD's OCI source (util/oci/client.go
// and util/io/files/tar.go of v3.2) with its default configuration: at most 10 layers,
// exactly one of them with content, whose type is in the list
// ARGOCD_REPO_SERVER_OCI_LAYER_MEDIA_TYPES; names that stay in the directory.
func TestArgoCD(t *testing.T) {
	manifest, err := newBundle(t, parts(), options).Manifest()
	if err != nil {
		t.Fatal(err)
	}
	allowed := []string{
		"application/vnd.oci.image.layer.v1.tar", "application/vnd.oci.image.layer.v1.tar+gzip",
		"application/vnd.cncf.helm.chart.content.v1.tar+gzip",
	}
	content := 0
	for _, l := range manifest.Layers {
		mediaType := string(l.MediaType)
		if !strings.HasSuffix(mediaType, "tar+gzip") && !strings.HasSuffix(mediaType, "tar") {
			continue
		}
		content++
		if !slices.Contains(allowed, mediaType) {
			t.Errorf("layer of type %s", mediaType)
		}
	}
	if content != 1 || len(manifest.Layers) > 10 {
		t.Errorf("%d layers, %d with content", len(manifest.Layers), content)
	}
	files, err := bundle.Files(newBundle(t, parts(), options))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if path.Clean(f.Name) != f.Name || !filepath.IsLocal(f.Name) {
			t.Errorf("name %q", f.Name)
		}
	}
}
