package oci_test

import (
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"

	"github.com/pequod-io/pequod/internal/ociimage"
	"github.com/pequod-io/pequod/modules/oci"
)

// about returns an artifact whose subject is img.
func about(t *testing.T, img v1.Image, artifactType, data string) v1.Image {
	t.Helper()
	subject, err := partial.Descriptor(img)
	if err != nil {
		t.Fatal(err)
	}
	made, err := ociimage.New(ociimage.Artifact{
		Type: artifactType, Subject: subject,
		Config: ociimage.Blob{MediaType: "application/vnd.oci.empty.v1+json", Data: []byte("{}")},
		Layers: []ociimage.Blob{{MediaType: "text/plain", Data: []byte(data)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestReferrers attaches artifacts to another one in each kind of place, and finds them by
// their type. A registry without the API for referrers has them under a tag.
func TestReferrers(t *testing.T) {
	server := func(options ...registry.Option) string {
		s := httptest.NewServer(registry.New(append(options, registry.Logger(discard))...))
		t.Cleanup(s.Close)
		return "oci://" + strings.TrimPrefix(s.URL, "http://") + "/shop/web"
	}
	dir := t.TempDir()
	for name, place := range map[string]string{
		"registry":         server(registry.WithReferrersSupport(true)),
		"registry by tags": server(registry.WithReferrersSupport(false)),
		"layout":           "oci-layout:" + filepath.Join(dir, "layout"),
		"archive":          filepath.Join(dir, "web.oci.tar"),
	} {
		t.Run(name, func(t *testing.T) {
			c := client(t, oci.Options{})
			img, digest := artifact(t)
			ref := parse(t, place+":v1.0.0")
			if err := c.Write(t.Context(), ref, img); err != nil {
				t.Fatal(err)
			}
			pinned := ref
			pinned.Digest = digest
			if found, err := c.Referrers(t.Context(), pinned, ""); len(found) != 0 || err != nil {
				t.Fatal(found, err)
			}
			first, second := about(t, img, "example.com/a", "1"), about(t, img, "example.com/b", "2")
			for _, r := range []v1.Image{first, second, first} {
				if err := c.Attach(t.Context(), pinned, r); err != nil {
					t.Fatal(err)
				}
			}
			for artifactType, want := range map[string][]v1.Image{
				"": {first, second}, "example.com/a": {first}, "example.com/b": {second}, "example.com/c": nil,
			} {
				found, err := c.Referrers(t.Context(), pinned, artifactType)
				if err != nil {
					t.Fatal(err)
				}
				var got, digests []string
				for _, d := range found {
					got = append(got, d.Digest.String())
					attached := ref.Place()
					attached.Digest = d.Digest.String()
					if _, err := c.Image(t.Context(), attached); err != nil {
						t.Error(err)
					}
				}
				for _, r := range want {
					h, err := r.Digest()
					if err != nil {
						t.Fatal(err)
					}
					digests = append(digests, h.String())
				}
				slices.Sort(got)
				slices.Sort(digests)
				if !slices.Equal(got, digests) {
					t.Errorf("type %q: %v, want %v", artifactType, got, digests)
				}
			}
			// They don't count where a layout has a single artifact.
			if ref.Kind != oci.Registry {
				if got, err := c.Image(t.Context(), ref.Place()); err != nil {
					t.Error(err)
				} else if h, err := got.Digest(); err != nil || h.String() != digest {
					t.Error(h, err)
				}
			}
		})
	}
}
