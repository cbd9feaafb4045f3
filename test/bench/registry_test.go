//go:build unix

package main_test

import (
	"archive/tar"
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// BenchmarkRegistry compares modules of registries with the aims of the design: rendering
// with one from a warm cache with rendering with the same from a directory, and module pull
// of 1 MB with `crane export` of an image with the same 100 files: to one archive, as crane
// writes it, and unpacked to files by tar, as module pull leaves them. The registry is part
// of this process; in the last comparison it answers after 20 ms, like one in the same
// country, so that the number of requests counts more than the start of the programs.
func BenchmarkRegistry(b *testing.B) {
	bin, err := programs()
	if err != nil {
		b.Fatal(err)
	}
	pequod, export := filepath.Join(bin, "pequod"), filepath.Join(bin, "craneexport")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", export, "./test/bench/craneexport")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(handler)
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	distant := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(20 * time.Millisecond)
		handler.ServeHTTP(w, r)
	}))
	defer distant.Close()
	dir := b.TempDir()
	b.Setenv("PEQUOD_CACHE_DIR", filepath.Join(dir, "cache"))
	b.Setenv("CI", "")
	sh := func(format string, args ...any) process {
		return process{dir, []string{"sh", "-c", fmt.Sprintf(format, args...)}}
	}

	writeAll(b, filepath.Join(dir, "shop"), map[string]string{
		"cue.mod/module.cue": "module: \"example.com/shop@v1\"\nlanguage: version: \"v0.17.0\"\nsource: kind: \"self\"\n",
		"shop.cue": `package shop

#Platform: kind: "Shop"
#Input: {image: string, size: int & <=9 | *1}
#Render: {
	input: {metadata: {name: string, namespace: string}, spec: #Input}
	output: nodes: cm: resource: {
		apiVersion: "v1", kind: "ConfigMap", metadata: name: input.metadata.name
		data: {image: input.spec.image, size: "\(input.spec.size)"}
	}
}
`})
	writeAll(b, dir, map[string]string{"app.yaml": "apiVersion: pequod.io/v1alpha1\nkind: Shop\nmetadata: {name: web, namespace: shop}\nspec: {image: nginx}\n"})
	shop := "oci://" + host + "/example.com/shop:v1.0.0"
	sh("%s module push shop %s && %s module lock -p %s", pequod, shop, pequod, shop).run(b)
	b.Run("render-cached", func(b *testing.B) {
		compare(b,
			process{dir, []string{pequod, "render", "-f", "app.yaml", "-p", shop}},
			process{dir, []string{pequod, "render", "-f", "app.yaml", "-p", "shop"}}, 21, 1.1)
	})

	// Hex digits of random bytes compress to half their length.
	random := rand.NewChaCha8([32]byte{})
	large := map[string]string{"cue.mod/module.cue": "module: \"example.com/large@v1\"\nlanguage: version: \"v0.17.0\"\nsource: kind: \"self\"\n"}
	for i := range 100 {
		data := make([]byte, 10<<10)
		_, _ = random.Read(data) // it returns no error
		large[fmt.Sprintf("f%d.cue", i)] = "package large\n// " + hex.EncodeToString(data) + "\n"
	}
	writeAll(b, filepath.Join(dir, "large"), large)
	sh("%s module push large oci://%s/example.com/large:v1.0.0", pequod, host).run(b)
	pushImage(b, host+"/large:v1", large)
	const pullText, exportText = "rm -rf out cache; exec %s module pull oci://%s/example.com/large:v1.0.0 out", "rm -rf out cache; exec %s %s/large:v1 > out.tar"
	pull := sh(pullText, pequod, host)
	b.Run("pull-1MB", func(b *testing.B) {
		compare(b, pull, sh(exportText, export, host), 21, 1.2)
	})
	b.Run("pull-1MB-files", func(b *testing.B) {
		compare(b, pull, sh("rm -rf out cache; mkdir out; %s %s/large:v1 | tar -xf - -C out", export, host), 21, 1.2)
	})
	b.Run("pull-1MB-20ms", func(b *testing.B) {
		host := strings.TrimPrefix(distant.URL, "http://")
		compare(b, sh(pullText, pequod, host), sh(exportText, export, host), 21, 1.2)
	})
}

// writeAll writes files to a directory.
func writeAll(b *testing.B, dir string, files map[string]string) {
	b.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
}

// pushImage writes an image with one layer that has the files.
func pushImage(b *testing.B, ref string, files map[string]string) {
	b.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(text)), Mode: 0o644}); err != nil {
			b.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(buf.Bytes())), nil })
	if err != nil {
		b.Fatal(err)
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err == nil {
		err = crane.Push(img, ref)
	}
	if err != nil {
		b.Fatal(err)
	}
}
