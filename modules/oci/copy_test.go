package oci_test

import (
	"errors"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/pequod-io/pequod/modules/oci"
)

// TestCopy copies an artifact with a referrer, a referrer of that, and a signature in the
// older form of cosign, between all kinds of places.
func TestCopy(t *testing.T) {
	dir := t.TempDir()
	place := func(kind, name string) string {
		switch kind {
		case "layout":
			return "oci-layout:" + filepath.Join(dir, name, "layout")
		case "archive":
			return filepath.Join(dir, name+".oci.tar")
		}
		s := httptest.NewServer(registry.New(registry.WithReferrersSupport(kind == "registry"), registry.Logger(discard)))
		t.Cleanup(s.Close)
		return "oci://" + strings.TrimPrefix(s.URL, "http://") + "/shop/web"
	}
	kinds := []string{"registry", "registry by tags", "layout", "archive"}
	for _, from := range kinds {
		for _, to := range kinds {
			t.Run(from+" to "+to, func(t *testing.T) {
				name := strings.ReplaceAll(t.Name(), "/", "_")
				c := client(t, oci.Options{})
				img, digest := artifact(t)
				signature := about(t, img, "example.com/signature", "1")
				counter := about(t, signature, "example.com/countersignature", "2")
				old, _ := artifact(t)
				src := parse(t, place(from, name+"_src")+":v1.0.0")
				tag := strings.Replace(digest, ":", "-", 1) + ".sig"
				tagged := src.Place()
				tagged.Tag = tag
				check := func(err error) {
					t.Helper()
					if err != nil {
						t.Fatal(err)
					}
				}
				check(c.Write(t.Context(), src, img))
				check(c.Attach(t.Context(), src, signature))
				check(c.Attach(t.Context(), src, counter))
				check(c.Write(t.Context(), tagged, old))

				dst := parse(t, place(to, name+"_dst"))
				for i, unchanged := range []bool{false, true} {
					copied, err := c.Copy(t.Context(), src, dst, false)
					check(err)
					if want := dst.String() + ":v1.0.0@" + digest; copied.Ref.String() != want || copied.Attached != 3 || copied.Unchanged != unchanged {
						t.Errorf("copy %d: %+v", i, copied)
					}
				}
				has := func(ref oci.Ref, want v1.Image) {
					t.Helper()
					got, err := c.Image(t.Context(), ref)
					check(err)
					gotRaw, err := got.RawManifest()
					check(err)
					wantRaw, err := want.RawManifest()
					check(err)
					if string(gotRaw) != string(wantRaw) {
						t.Errorf("%s: %s, want %s", ref, gotRaw, wantRaw)
					}
				}
				ref := dst
				ref.Tag = "v1.0.0"
				has(ref, img)
				ref.Tag = tag
				has(ref, old)
				for _, pair := range [][2]v1.Image{{img, signature}, {signature, counter}} {
					h, err := pair[0].Digest()
					check(err)
					subject := dst
					subject.Digest = h.String()
					found, err := c.Referrers(t.Context(), subject, "")
					check(err)
					if len(found) != 1 {
						t.Fatalf("%d referrers of %s", len(found), subject)
					}
					subject.Digest = found[0].Digest.String()
					has(subject, pair[1])
				}

				// Another artifact under the tag stays, unless it may be replaced.
				other, otherDigest := artifact(t)
				moved := dst
				moved.Tag = "v1.0.0"
				check(c.Write(t.Context(), moved, other))
				_, err := c.Copy(t.Context(), src, dst, false)
				if exists := (*oci.ExistsError)(nil); !errors.As(err, &exists) || exists.Got != otherDigest || exists.Want != digest {
					t.Errorf("moved tag: %v", err)
				}
				has(moved, other)
				_, err = c.Copy(t.Context(), src, dst, true)
				check(err)
				has(moved, img)
			})
		}
	}
}
