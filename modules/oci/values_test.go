package oci_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/pequod-io/pequod/modules/oci"
)

// expanding returns a text of at most 4 MiB that becomes hundreds of MiB when it is decoded.
func expanding(head, text, tail string) string {
	return head + strings.Repeat(text, (4_190_000-len(head)-len(tail))/len(text)) + tail
}

// TestExpandingAnswers checks that answers with many small values are refused before they are decoded,
// by the memory that is allocated: without a limit of values it is 170 MiB to 2 GiB.
func TestExpandingAnswers(t *testing.T) {
	for name, test := range map[string]struct{ path, body string }{
		"layers":       {"/manifests/", expanding(`{"layers":[`, `{},`, `{}]}`)},
		"platforms":    {"/manifests/", expanding(`{"manifests":[`, `{"platform":{}},`, `{}]}`)},
		"annotations":  {"/manifests/", expanding(`{"layers":[`, `{"annotations":{"":""}},`, `{}]}`)},
		"depth":        {"/manifests/", expanding(`{"layers":[{"a":`, `[`, ``)},
		"referrers":    {"/referrers/", expanding(`{"manifests":[`, `{},`, `{}]}`)},
		"tags":         {"/tags/list", expanding(`{"tags":[`, `"",`, `""]}`)},
		"objects":      {"/tags/list", expanding(`{"tags":[`, `{},`, `""]}`)},
		"repositories": {"/_catalog", expanding(`{"repositories":[`, `"",`, `""]}`)},
	} {
		t.Run(name, func(t *testing.T) {
			place, digest := serve(t, func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.Contains(r.URL.Path, test.path) {
					return false
				}
				w.Header().Set("Content-Type", "application/vnd.oci.image.index.v1+json")
				_, _ = io.WriteString(w, test.body) // the client ends the connection
				return true
			})
			c := client(t, oci.WithTiming(oci.Options{}, noWait, never))
			ref := parse(t, place+":v1.0.0")
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var err error
			switch test.path {
			case "/manifests/":
				_, err = c.Image(t.Context(), ref)
			case "/referrers/":
				_, err = c.Referrers(t.Context(), parse(t, place+"@"+digest), "")
			case "/tags/list":
				_, err = c.Tags(t.Context(), ref)
			default:
				_, err = c.Repositories(t.Context(), ref.Host, "")
			}
			runtime.ReadMemStats(&after)
			allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
			if !oci.Causes(err, oci.TooLarge) || !strings.Contains(err.Error(), "the answer of the registry: it has more than ") || allocated > 32 {
				t.Errorf("%d MiB, %v", allocated, err)
			}
		})
	}
}

// TestLongList reads a page with as many tags as may be listed.
func TestLongList(t *testing.T) {
	place, _ := serve(t, says("/tags/list", http.StatusOK, `{"tags":["v1.0.0"`+strings.Repeat(`,"v1.0.1"`, 99_999)+`]}`))
	if tags, err := client(t, oci.Options{}).Tags(t.Context(), parse(t, place)); err != nil || len(tags) != 2 {
		t.Error(tags, err)
	}
}

// TestPagesOfBlobs has a registry that calls the next page of a list a blob. Blobs are larger than lists
// may be.
func TestPagesOfBlobs(t *testing.T) {
	asked := 0
	place, digest := serve(t, func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case strings.HasSuffix(r.URL.Path, "/tags/list"):
			w.Header().Set("Link", `</v2/shop/web/blobs/`+strings.Repeat("a", 64)+`>; rel="next"`)
			_, _ = io.WriteString(w, `{"tags":["v1.0.0"]}`)
		case strings.Contains(r.URL.Path, "/blobs/aaa"):
			asked++
			_, _ = io.WriteString(w, `{"tags":["`+strings.Repeat("a", 5<<20)+`"]}`) // likewise
		default:
			return false
		}
		return true
	})
	_, err := client(t, oci.WithTiming(oci.Options{}, noWait, never)).Tags(t.Context(), parse(t, place+"@"+digest))
	if !oci.Causes(err, oci.TooLarge) || !strings.Contains(err.Error(), "the answer of the registry is larger than 4 MiB") || asked == 0 {
		t.Errorf("%d requests, %v", asked, err)
	}
}

// TestLargeBlob reads a blob that is larger than other answers may be, and has more values.
func TestLargeBlob(t *testing.T) {
	blob := []byte(expanding("[", "0,", "0]") + strings.Repeat(" ", 4<<20))
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(blob))
	manifest := fmt.Sprintf(`{"config":{"digest":%[1]q,"size":%[2]d},"layers":[{"digest":%[1]q,"size":%[2]d}]}`, digest, len(blob))
	place, _ := serve(t, func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case strings.Contains(r.URL.Path, "/manifests/"):
			_, _ = io.WriteString(w, manifest)
		case strings.HasPrefix(r.URL.Path, "/elsewhere/"):
			_, _ = w.Write(blob)
		case strings.Contains(r.URL.Path, "/blobs/"):
			http.Redirect(w, r, "/elsewhere/x?signature=y", http.StatusTemporaryRedirect)
		default:
			return false
		}
		return true
	})
	kept := &store{map[string][]byte{}}
	c := client(t, oci.WithTiming(oci.Options{Blobs: kept}, noWait, never))
	if err := pull(t.Context(), c, parse(t, place+":v1.0.0")); err != nil || !bytes.Equal(kept.data[digest], blob) {
		t.Fatal(err)
	}
	// The blob is kept, and is no manifest.
	_, err := c.Image(t.Context(), parse(t, place+"@"+digest))
	if !oci.Causes(err, oci.TooLarge) || !strings.Contains(err.Error(), "the manifest is larger than 4 MiB") {
		t.Error(err)
	}
}

// TestExpandingLayout reads a layout whose index has many small values.
func TestExpandingLayout(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "index.json"), []byte(expanding(`{"manifests":[`, `{},`, `{}]}`)), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := client(t, oci.Options{}).Image(t.Context(), parse(t, "oci-layout:"+dir+":v1"))
	if !oci.Causes(err, oci.TooLarge) || !strings.Contains(err.Error(), "the manifest: it has more than 50000 values") {
		t.Error(err)
	}
}
