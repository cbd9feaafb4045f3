package modpath_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cuelabs.dev/go/oci/ociregistry/ocimem"
	"cuelang.org/go/mod/modconfig"
	"cuelang.org/go/mod/modregistry"
	"cuelang.org/go/mod/modregistrytest"
	"cuelang.org/go/mod/module"
	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/pequod-io/pequod/modules/cache"
	"github.com/pequod-io/pequod/modules/modpath"
	"github.com/pequod-io/pequod/modules/oci"
)

// archive returns the archive of a module with the given package.
func archive(t *testing.T, path, text string) *bytes.Reader {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, data := range map[string]string{
		"cue.mod/module.cue": "module: \"" + path + "\"\nlanguage: version: \"v0.13.0\"\n",
		"x.cue":              text,
	} {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write([]byte(data))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(b.Bytes())
}

// publish publishes versions of modules with CUE's own code, where a value of
// CUE_REGISTRY says. The text of a package is the version.
func publish(t *testing.T, cueRegistry string, versions ...string) {
	t.Helper()
	resolver, err := modconfig.NewResolver(&modconfig.Config{CUERegistry: cueRegistry, Env: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	client := modregistry.NewClientWithResolver(resolver)
	for _, s := range versions {
		v := module.MustParseVersion(s)
		r := archive(t, v.Path(), "package x\n// "+s)
		if err := client.PutModule(t.Context(), v, r, r.Size()); err != nil {
			t.Fatal(err)
		}
	}
}

// start starts a registry in memory and returns its host.
func start(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// TestRegistries publishes modules with CUE's own code, for all forms of CUE_REGISTRY, and
// reads them.
func TestRegistries(t *testing.T) {
	for name, form := range map[string]string{
		"host":     "HOST+insecure",
		"prefix":   "HOST/cue/modules+insecure",
		"by path":  "example.com/shop=HOST/shop+insecure,HOST/others+insecure",
		"simple":   "simple:HOST+insecure",
		"hashed":   `inline:defaultRegistry: {registry: "HOST/hashed+insecure", pathEncoding: "hashAsRepo"}`,
		"in tags":  `inline:defaultRegistry: {registry: "HOST/one+insecure", pathEncoding: "hashAsTag", prefixForTags: "m-"}`,
		"prefixed": `inline:defaultRegistry: {registry: "HOST/prefixed+insecure", prefixForTags: "m-"}`,
		"file":     "file:FILE",
	} {
		t.Run(name, func(t *testing.T) {
			host := start(t)
			file := filepath.Join(t.TempDir(), "registries.cue")
			if err := os.WriteFile(file, []byte(`defaultRegistry: registry: "`+host+`+insecure"`), 0o600); err != nil {
				t.Fatal(err)
			}
			value := strings.NewReplacer("HOST", host, "FILE", file).Replace(form)
			publish(t, value, "example.com/shop/web@v1.4.0", "example.com/shop/web@v1.10.0", "example.com/shop/web@v1.11.0-rc.1",
				"example.com/shop/web@v2.0.0-alpha", "example.com/lib@v0.1.0")
			client := modpath.New(modpath.Options{Registry: value})
			for _, s := range []string{"example.com/shop/web@v1.4.0", "example.com/lib@v0.1.0"} {
				m, err := client.Open(t.Context(), module.MustParseVersion(s))
				if err != nil {
					t.Fatal(err)
				}
				if data, err := fs.ReadFile(m.Files, "x.cue"); err != nil || !strings.Contains(string(data), s) {
					t.Errorf("%s: %q, %v", s, data, err)
				}
			}
			for path, want := range map[string]string{"example.com/shop/web@v1": "v1.10.0", "example.com/shop/web@v2": "v2.0.0-alpha"} {
				if v, err := client.Latest(t.Context(), path); err != nil || v.Version() != want {
					t.Errorf("%s: %v, %v; want %s", path, v, err, want)
				}
			}
			if v, err := client.Latest(t.Context(), "example.com/shop/web@v3"); err == nil {
				t.Errorf("version %s of a major version that does not exist", v)
			}
			if _, err := client.Open(t.Context(), module.MustParseVersion("example.com/shop/web@v1.5.0")); !oci.Causes(err, oci.NotFound) {
				t.Errorf("missing version: %v", err)
			}
		})
	}
	for value, want := range map[string]string{
		"none":          "CUE_REGISTRY has no registry for it",
		"not a host///": "CUE_REGISTRY: bad value for registry",
	} {
		_, err := modpath.New(modpath.Options{Registry: value}).Open(t.Context(), module.MustParseVersion("example.com/shop/web@v1.4.0"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", value, err, want)
		}
	}
}

// TestLogin checks that the credentials of "cue login" are used for their registry only,
// and are in no message.
func TestLogin(t *testing.T) {
	const secret = "a-token-that-is-secret"
	memory := ocimem.New()
	v := module.MustParseVersion("example.com/shop/web@v1.4.0")
	r := archive(t, v.Path(), "package x")
	if err := modregistry.NewClient(memory).PutModule(t.Context(), v, r, r.Size()); err != nil {
		t.Fatal(err)
	}
	server, err := modregistrytest.NewServer(memory, &modregistrytest.AuthConfig{BearerToken: secret})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	for host, works := range map[string]bool{server.Host(): true, "other.example.com": false} {
		dir := t.TempDir()
		logins := `{"registries": {"` + host + `": {"access_token": "` + secret + `", "token_type": "Bearer"}}}`
		if err := os.WriteFile(filepath.Join(dir, "logins.json"), []byte(logins), 0o600); err != nil {
			t.Fatal(err)
		}
		client := modpath.New(modpath.Options{Registry: server.Host() + "+insecure", Artifacts: func(plain bool) (oci.Artifacts, error) {
			return oci.New(oci.Options{Transport: modpath.Logins(dir, http.DefaultTransport), PlainHTTP: plain})
		}})
		_, err := client.Open(t.Context(), v)
		if (err == nil) != works || err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// records are Records in memory.
type records map[string]string

func (r records) Remember(key, value string)       { r[key] = value }
func (r records) Recall(key string) (string, bool) { v, ok := r[key]; return v, ok }

// TestRetag changes a published version. Records keep the first content, and a pinned
// digest refuses everything else.
func TestRetag(t *testing.T) {
	host := start(t)
	v := module.MustParseVersion("example.com/shop/web@v1.4.0")
	open := func(o modpath.Options) (*modpath.Module, error) {
		o.Registry = host + "+insecure"
		return modpath.New(o).Open(t.Context(), v)
	}
	publish(t, host+"+insecure", v.String())
	known := records{}
	first, err := open(modpath.Options{Records: known})
	if err != nil {
		t.Fatal(err)
	}
	resolver, err := modconfig.NewResolver(&modconfig.Config{CUERegistry: host + "+insecure", Env: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	r := archive(t, v.Path(), "package x\n// changed")
	if err := modregistry.NewClientWithResolver(resolver).PutModule(t.Context(), v, r, r.Size()); err != nil {
		t.Fatal(err)
	}
	if second, err := open(modpath.Options{Records: known}); err != nil || second.Digest != first.Digest {
		t.Errorf("with records: %v, %v; want the first content", second, err)
	}
	if second, err := open(modpath.Options{}); err != nil || second.Digest == first.Digest {
		t.Errorf("without records: %v, %v; want the second content", second, err)
	}
	pin := func(digest string) modpath.Options {
		return modpath.Options{Digest: func(module.Version) (string, error) { return digest, nil }}
	}
	if pinned, err := open(pin(first.Digest)); err != nil || pinned.Digest != first.Digest {
		t.Errorf("pinned: %v, %v", pinned, err)
	}
	if m, err := open(pin("sha256:" + strings.Repeat("0", 64))); err == nil {
		t.Errorf("pinned to a digest that does not exist: %v", m)
	}
	refused := errors.New("not in the lock")
	if _, err := open(modpath.Options{Digest: func(module.Version) (string, error) { return "", refused }}); !errors.Is(err, refused) {
		t.Errorf("refused version: %v", err)
	}
}

// blobs is the cache as package oci uses it.
type blobs struct{ *cache.Cache }

func (b blobs) Get(ctx context.Context, digest string, size int64, fetch func(context.Context) (io.ReadCloser, error)) ([]byte, error) {
	return b.Cache.Get(ctx, digest, size, fetch)
}

// TestWithoutNetwork checks that a version which the cache has is opened without any
// request.
func TestWithoutNetwork(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	v := module.MustParseVersion("example.com/shop/web@v1.4.0")
	publish(t, host+"+insecure", v.String())
	kept := blobs{cache.Open(cache.Options{Dir: t.TempDir()})}
	open := func() error {
		_, err := modpath.New(modpath.Options{Registry: host + "+insecure", Records: kept, Artifacts: func(plain bool) (oci.Artifacts, error) {
			return oci.New(oci.Options{PlainHTTP: plain, Blobs: kept})
		}}).Open(t.Context(), v)
		return err
	}
	if err := open(); err != nil {
		t.Fatal(err)
	}
	server.Close()
	if err := open(); err != nil {
		t.Error(err)
	}
}

// TestOtherModule checks that a registry can't answer with another module.
func TestOtherModule(t *testing.T) {
	host := start(t)
	publish(t, host+"/x+insecure", "example.com/shop@v1.0.0")
	artifacts, err := oci.New(oci.Options{PlainHTTP: true})
	if err != nil {
		t.Fatal(err)
	}
	ref := oci.Ref{Host: host, Repository: "x/example.com/shop", Tag: "v1.0.0"}
	img, err := artifacts.Image(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	ref.Repository = "x/example.com/other"
	if err := artifacts.Write(t.Context(), ref, img); err != nil {
		t.Fatal(err)
	}
	_, err = modpath.New(modpath.Options{Registry: host + "/x+insecure"}).Open(t.Context(), module.MustParseVersion("example.com/other@v1.0.0"))
	if err == nil || !strings.Contains(err.Error(), "is the module example.com/shop@v1") {
		t.Errorf("got %v", err)
	}
}

func TestParseRef(t *testing.T) {
	for s, want := range map[string]string{
		"example.com/shop/web@v1":         "example.com/shop/web@v1",
		"example.com/shop/web@v1.4.0":     "example.com/shop/web@v1.4.0",
		"example.com@v0.1.0-rc.1":         "example.com@v0.1.0-rc.1",
		"example.com/shop@v1.4":           "error",
		"example.com/Shop/../web@v1.4.0":  "error",
		"example.com/shop/web":            "path",
		"./example.com/shop@v1":           "path",
		"/example.com/shop@v1":            "path",
		"shop@v1":                         "path",
		"../shop@v1":                      "path",
		"example.com/shop@latest":         "path",
		"example.com/shop@v1/web":         "path",
		"example.com/shop.oci.tar@sha256": "path",
	} {
		got := "path"
		if modpath.IsRef(s) {
			v, err := modpath.ParseRef(s)
			if got = v.String(); err != nil {
				got = "error"
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", s, got, want)
		}
	}
}

// TestCancel checks that the end of the context ends a download.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := modpath.New(modpath.Options{Registry: start(t) + "+insecure"}).Open(ctx, module.MustParseVersion("example.com/shop@v1.0.0"))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
