package artifact_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"golang.org/x/sync/errgroup"

	"github.com/pequod-io/pequod/modules/artifact"
)

// TestRequests checks that reading a module asks a registry for nothing twice, and for nothing
// that it doesn't need, such as the empty config.
func TestRequests(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.Method+" "+r.URL.Path]++
		mu.Unlock()
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	ref := pushOurs(t, strings.TrimPrefix(s.URL, "http://"), write(t, shop))
	clear(asked)
	img, err := ours(t).Image(t.Context(), ref)
	if err == nil {
		_, _, err = artifact.Open(img)
	}
	if err != nil {
		t.Fatal(err)
	}
	for request, n := range asked {
		if n > 1 {
			t.Errorf("%d times %s", n, request)
		}
	}
	if len(asked) != 4 {
		t.Errorf("got %d requests, want those of the version of the protocol, the manifest and two layers: %v", len(asked), asked)
	}
}

// TestFilesAreReadAtOnce reads files of an archive from several goroutines. Readers that a
// damaged file has used are used again.
func TestFilesAreReadAtOnce(t *testing.T) {
	var files []string
	for i := range 50 {
		files = append(files, fmt.Sprintf("f%d.cue", i), fmt.Sprint(strings.Repeat("x", i*1000), i))
	}
	data := []byte(archive(t, nil, append(files, "bad.cue", strings.Repeat("0123456789", 1000))...))
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	start, err := z.File[len(z.File)-1].DataOffset() // of bad.cue
	if err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint64(data[start:], ^uint64(0)) // a block of no known type
	_, opened, err := artifact.Open(moduleImage(t, string(data), validFile))
	if err != nil {
		t.Fatal(err)
	}
	var group errgroup.Group
	for range 4 {
		group.Go(func() error {
			for i := 0; i < len(files); i += 2 {
				if text, err := fs.ReadFile(opened, "bad.cue"); err == nil {
					return fmt.Errorf("read %d bytes of the damaged file", len(text))
				}
				text, err := fs.ReadFile(opened, files[i])
				if err != nil || string(text) != files[i+1] {
					return fmt.Errorf("%s: %d bytes, %v", files[i], len(text), err)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}
