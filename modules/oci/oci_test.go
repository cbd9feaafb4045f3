package oci_test

import (
	"bytes"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"

	"github.com/pequod-io/pequod/modules/oci"
)

// anonymous is a keychain without credentials. Without it, a test would read the
// credentials of the user.
var anonymous = authn.NewMultiKeychain()

// client returns a client without credentials.
func client(t *testing.T, o oci.Options) *oci.Client {
	t.Helper()
	if o.Keychain == nil {
		o.Keychain = anonymous
	}
	c, err := oci.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// parse parses a reference.
func parse(t *testing.T, s string) oci.Ref {
	t.Helper()
	ref, err := oci.ParseRef(s)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// artifact returns an image of two layers with random bytes, and its digest.
func artifact(t *testing.T) (v1.Image, string) {
	t.Helper()
	img, err := random.Image(1000, 2)
	if err != nil {
		t.Fatal(err)
	}
	h, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return img, h.String()
}

// bytesOf returns the manifest and all layers of an image.
func bytesOf(t *testing.T, img v1.Image) [][]byte {
	t.Helper()
	raw, err := img.RawManifest()
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.RawConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	all := [][]byte{raw, config}
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range layers {
		r, err := l.Compressed()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data)
	}
	return all
}

// TestPlaces writes two artifacts to each kind of place and reads them back.
func TestPlaces(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(discard)))
	defer server.Close()
	dir := t.TempDir()
	for name, place := range map[string]string{
		"registry": "oci://" + strings.TrimPrefix(server.URL, "http://") + "/shop/web",
		"layout":   "oci-layout:" + filepath.Join(dir, "layout"),
		"archive":  filepath.Join(dir, "web.oci.tar"),
	} {
		t.Run(name, func(t *testing.T) {
			c := client(t, oci.Options{})
			first, digest := artifact(t)
			second, _ := artifact(t)
			for tag, img := range map[string]v1.Image{"v1.0.0": first, "v1.10.0": second} {
				if err := c.Write(t.Context(), parse(t, place+":"+tag), img); err != nil {
					t.Fatal(err)
				}
			}
			for _, ref := range []string{place + ":v1.0.0", place + "@" + digest, place + ":ignored@" + digest} {
				img, err := c.Image(t.Context(), parse(t, ref))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(bytesOf(t, first), bytesOf(t, img)); diff != "" {
					t.Errorf("%s differs: %s", ref, diff)
				}
			}
			tags, err := c.Tags(t.Context(), parse(t, place))
			if diff := cmp.Diff([]string{"v1.0.0", "v1.10.0"}, tags); diff != "" || err != nil {
				t.Errorf("tags: %s, %v", diff, err)
			}
			_, err = c.Image(t.Context(), parse(t, place+":v1.9.0"))
			if want := place + ":v1.9.0: tag not found; did you mean v1.0.0 or v1.10.0?"; err == nil || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
			if !oci.Causes(err, oci.NotFound) {
				t.Errorf("cause of %v", err)
			}
			// A tag can be given to another artifact; a digest can't.
			if err := c.Write(t.Context(), parse(t, place+":v1.0.0"), second); err != nil {
				t.Fatal(err)
			}
			img, err := c.Image(t.Context(), parse(t, place+":v1.0.0"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(bytesOf(t, second), bytesOf(t, img)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestArchiveBytes checks that the bytes of an archive depend on nothing but its
// artifacts.
func TestArchiveBytes(t *testing.T) {
	img, _ := artifact(t)
	var archives [][]byte
	for range 2 {
		file := filepath.Join(t.TempDir(), "a.oci.tar")
		if err := client(t, oci.Options{}).Write(t.Context(), parse(t, file+":v1"), img); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		archives = append(archives, data)
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("two archives of one artifact differ")
	}
}

// TestLayoutErrors covers files and directories that are no layouts, and changed blobs.
func TestLayoutErrors(t *testing.T) {
	dir := t.TempDir()
	img, digest := artifact(t)
	c := client(t, oci.Options{})
	layout := "oci-layout:" + dir + "/layout"
	if err := c.Write(t.Context(), parse(t, layout+":v1"), img); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("no.oci.tar", "text")
	write("other/file", "text")
	write("json/index.json", "text")
	write("link/index.json", `{"manifests": [{"digest": "`+digest+`", "size": 10}]}`)
	write("secret", "secret")
	hex := strings.TrimPrefix(digest, "sha256:")
	if err := os.MkdirAll(filepath.Join(dir, "link/blobs/sha256"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../../secret", filepath.Join(dir, "link/blobs/sha256", hex)); err != nil {
		t.Skip(err)
	}
	write("layout/blobs/sha256/"+hex, "changed")
	for ref, want := range map[string]string{
		"oci-layout:" + dir + "/none":  "no such file or directory; check the path",
		dir + "/none.oci.tar":          "no such file or directory; check the path",
		dir + "/no.oci.tar":            "not a tar archive of an OCI layout: unexpected EOF; name a module or a bundle",
		"oci-layout:" + dir + "/other": "not an OCI layout: it has no index.json; name a module or a bundle",
		"oci-layout:" + dir + "/json":  "not an OCI layout: index.json: invalid character 'e' in literal true (expecting 'r'); name a module or a bundle",
		"oci-layout:" + dir + "/link":  "no usable answer: openat blobs/sha256/" + hex + ": path escapes from parent; check the address and the network, or try again later",
		layout:                         "wrong content: got digest sha256:4eb4e7b3c62eb7b1a1b4a3d2b5b5cd0b1c8b4e0a1c1a4a5a6a7a8a9aaaabacad, want " + digest,
	} {
		_, err := c.Image(t.Context(), parse(t, ref))
		if ref == layout && oci.Causes(err, oci.DigestMismatch) {
			continue
		}
		if err == nil || err.Error() != ref+": "+want {
			t.Errorf("%v, want %s: %s", err, ref, want)
		}
	}
	if err := c.Write(t.Context(), parse(t, "oci-layout:"+dir+"/other:v1"), img); err == nil || !strings.HasSuffix(err.Error(), "the directory is not empty and not an OCI layout; name another directory") {
		t.Errorf("write to a directory with files: %v", err)
	}
}

// TestParseRef covers the forms of references and the errors of others.
func TestParseRef(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0", 64)
	for _, s := range []string{
		"oci://ghcr.io/acme/web:v1.0.0", "oci://localhost:5000/web", "oci://ghcr.io/acme/web@" + digest,
		"oci://ghcr.io/acme/web:v1.0.0@" + digest, "oci-layout:dist", "oci-layout:/a/b:v1.0.0", "oci-layout:dist@" + digest,
		"web.oci.tar", "dist/web.oci.tar:v1.0.0", "oci://[::1]:5000/web:v1",
	} {
		if !oci.IsRef(s) {
			t.Errorf("%s is not a reference", s)
		}
		if ref, err := oci.ParseRef(s); err != nil || ref.String() != s {
			t.Errorf("%s: %s, %v", s, ref, err)
		}
	}
	for s, want := range map[string]string{
		"oci://web:v1":                         `"web:v1" is not the host of a registry; want oci://HOST/REPOSITORY:TAG`,
		"oci://acme/web:v1":                    `"acme" is not the host of a registry; want oci://HOST/REPOSITORY:TAG`,
		"oci://ghcr.io":                        `no repository; want oci://ghcr.io/REPOSITORY:TAG`,
		"oci://ghcr.io/Acme/web":               `"Acme/web" is not a repository: use lower-case letters, digits and -, _, . and / in between`,
		"oci://ghcr.io/web@sha256:12":          `"sha256:12" is not a digest: want sha256: and 64 hex digits`,
		"oci-layout:":                          "no directory; want oci-layout:DIR",
		"./web":                                "not a reference to an artifact; want oci://HOST/REPOSITORY:TAG, oci-layout:DIR:TAG or FILE.oci.tar",
		"oci://ghcr.io/acme/../web:v1":         `"acme/../web:v1" is not a repository: use lower-case letters, digits and -, _, . and / in between`,
		"oci://user:password@ghcr.io/web:v1.0": "credentials don't belong in a reference: use 'docker login' or a credential helper",
	} {
		_, err := oci.ParseRef(s)
		if err == nil || !strings.HasSuffix(err.Error(), ": "+want) || strings.Contains(err.Error(), "password") {
			t.Errorf("%s: %v, want %s", s, err, want)
		}
	}
	for _, s := range []string{"./web", "embedded:webservice", "web.tar", "git::https://example.com/a.oci.tar/b"} {
		if oci.IsRef(s) {
			t.Errorf("%s is a reference", s)
		}
	}
}
