package artifact_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/pequod-io/pequod/operator/artifact"
	"github.com/pequod-io/pequod/test/harness"
)

var apps, other = types.NamespacedName{Namespace: "shop", Name: "apps"}, types.NamespacedName{Namespace: "shop", Name: "apps2"}

// patience is how long a test waits for what must happen.
const patience = 3 * time.Minute

// newStore returns a store in the namespace of a test, and its client.
func newStore(t *testing.T) (artifact.Store, client.WithWatch) {
	t.Helper()
	c := harness.Start(t)
	scheme := runtime.NewScheme()
	if err := appsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	api, err := client.NewWithWatch(c.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return artifact.Store{Client: api, API: api, Namespace: c.Namespace}, api
}

// random returns bytes that can't be compressed.
func random(t *testing.T, size int) []byte {
	t.Helper()
	data := make([]byte, size)
	if _, err := rand.NewChaCha8([32]byte{byte(size)}).Read(data); err != nil {
		t.Fatal(err)
	}
	return data
}

// save saves an archive and returns its digest.
func save(t *testing.T, s artifact.Store, of types.NamespacedName, data []byte) string {
	t.Helper()
	digest, err := s.Save(t.Context(), of, data)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("sha256:%x", sha256.Sum256(data)); digest != want {
		t.Fatalf("digest %s, want %s", digest, want)
	}
	return digest
}

// Archives are read back as they were saved, and pruned alone for each InstanceSource.
func TestStore(t *testing.T) {
	t.Parallel()
	s, api := newStore(t)
	large, small := random(t, 2_500_000), []byte("small")
	first, second := save(t, s, apps, large), save(t, s, apps, small)
	save(t, s, apps, large)
	save(t, s, other, large)
	objects := func() int {
		var all appsv1.ControllerRevisionList
		if err := api.List(t.Context(), &all, client.InNamespace(s.Namespace)); err != nil {
			t.Fatal(err)
		}
		return len(all.Items)
	}
	if n := objects(); n != 3+1+3 {
		t.Errorf("%d objects", n)
	}
	read := func(of types.NamespacedName, digest string, want []byte) {
		t.Helper()
		got, err := s.Read(t.Context(), of, digest)
		if want == nil && !apierrors.IsNotFound(err) || want != nil && (err != nil || !bytes.Equal(got, want)) {
			t.Errorf("archive %s of %s: %d bytes, %v", digest, of, len(got), err)
		}
	}
	read(apps, first, large)
	read(apps, second, small)
	read(other, second, nil)
	owners, err := s.Owners(t.Context())
	if err != nil || len(owners) != 2 {
		t.Errorf("owners %v, %v", owners, err)
	}
	if err := s.Prune(t.Context(), apps, second, "sha256:none"); err != nil {
		t.Fatal(err)
	}
	read(apps, first, nil)
	read(apps, second, small)
	read(other, first, large)
	save(t, s, apps, large)
	read(apps, first, large)
	if err := s.Prune(t.Context(), apps); err != nil {
		t.Fatal(err)
	}
	read(apps, second, nil)
	read(other, first, large)
	if n := objects(); n != 3 {
		t.Errorf("%d objects are left", n)
	}
	owners, err = s.Owners(t.Context())
	if diff := cmp.Diff([]types.NamespacedName{other}, owners); diff != "" || err != nil {
		t.Errorf("owners (-want +got):\n%s%v", diff, err)
	}
	if _, err := s.Save(t.Context(), apps, make([]byte, artifact.MaxSize+1)); err == nil || err.Error() != "the archive is larger than 10 MiB" {
		t.Errorf("an archive that is too large: %v", err)
	}
}

// An archive with a missing part is not found. Saving it again completes it, and pruning deletes
// what is left of it.
func TestInterruptedSave(t *testing.T) {
	t.Parallel()
	s, api := newStore(t)
	down := errors.New("the API server is down")
	var left atomic.Int32
	left.Store(2)
	s.Client = interceptor.NewClient(api, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		if left.Add(-1) < 0 {
			return down
		}
		return c.Create(ctx, o, opts...)
	}})
	data := random(t, 2_500_000)
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(data))
	if _, err := s.Save(t.Context(), apps, data); !errors.Is(err, down) {
		t.Errorf("saving: %v", err)
	}
	if _, err := s.Read(t.Context(), apps, digest); !apierrors.IsNotFound(err) {
		t.Errorf("reading what was not saved: %v", err)
	}
	whole := func() {
		t.Helper()
		left.Store(3)
		save(t, s, apps, data)
		if got, err := s.Read(t.Context(), apps, digest); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
	whole()
	// remove deletes the part whose name has a suffix, if there is one, and returns the number of parts
	// that are left.
	remove := func(suffix string) (left int) {
		t.Helper()
		var all appsv1.ControllerRevisionList
		if err := api.List(t.Context(), &all, client.InNamespace(s.Namespace)); err != nil {
			t.Fatal(err)
		}
		for i := range all.Items {
			if strings.HasSuffix(all.Items[i].Name, suffix) {
				if err := api.Delete(t.Context(), &all.Items[i]); err != nil {
					t.Fatal(err)
				}
				return len(all.Items) - 1
			}
		}
		return len(all.Items)
	}
	if left := remove("-1"); left != 2 {
		t.Errorf("%d parts are left", left)
	}
	whole()
	// Without the first part, the rest still has an owner, and is deleted with its archives.
	if left := remove("-0"); left != 2 {
		t.Errorf("%d parts are left", left)
	}
	owners, err := s.Owners(t.Context())
	if diff := cmp.Diff([]types.NamespacedName{apps}, owners); diff != "" || err != nil {
		t.Errorf("owners (-want +got):\n%s%v", diff, err)
	}
	if err := s.Prune(t.Context(), apps, "sha256:other"); err != nil {
		t.Fatal(err)
	}
	if left := remove("none"); left != 0 {
		t.Errorf("%d parts are left", left)
	}
}

// answer has the parts of an HTTP response that tests compare.
type answer struct {
	Status                int
	Type, Length, ETag    string
	Body, Allow, NextTime string
}

// ask sends a request to a server.
func ask(t *testing.T, server *httptest.Server, method, path string, header ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	h := resp.Header
	return answer{resp.StatusCode, h.Get("Content-Type"), h.Get("Content-Length"), h.Get("ETag"), string(body), h.Get("Allow"), h.Get("Retry-After")}
}

// TestServer asks for archives and for everything else.
func TestServer(t *testing.T) {
	t.Parallel()
	s, api := newStore(t)
	var down atomic.Bool
	failing := errors.New("the API server is down")
	s.API = interceptor.NewClient(api, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		if down.Load() {
			return failing
		}
		return c.Get(ctx, key, o, opts...)
	}})
	digest := save(t, s, apps, []byte("archive"))
	hex := strings.TrimPrefix(digest, "sha256:")
	server := httptest.NewServer(artifact.Handler(s, logr.Discard()))
	t.Cleanup(server.Close)
	file, absent := "/artifacts/shop/apps/"+hex+".tar.gz", "/artifacts/shop/apps/"+strings.Repeat("0", 64)+".tar.gz"
	text := "text/plain; charset=utf-8"
	found := answer{200, "application/gzip", "7", `"` + digest + `"`, "archive", "", ""}
	head := found
	head.Body = ""
	notFound := answer{404, text, "19", "", "404 page not found\n", "", ""}
	notAllowed := answer{405, text, "19", "", "Method Not Allowed\n", "GET, HEAD", ""}
	unavailable := answer{503, text, "33", "", "the archive can't be read now\n", "", "1"}
	unavailable.Length = fmt.Sprint(len(unavailable.Body))
	for _, test := range []struct {
		name, method, path string
		header             []string
		want               answer
	}{
		{"archive", "GET", file, nil, found},
		{"head", "HEAD", file, nil, head},
		{"the same again", "GET", file, []string{"If-None-Match", found.ETag}, answer{304, "", "", found.ETag, "", "", ""}},
		{"absent", "GET", absent, nil, notFound},
		{"of another InstanceSource", "GET", "/artifacts/shop/apps2/" + hex + ".tar.gz", nil, notFound},
		{"no digest", "GET", "/artifacts/shop/apps/latest.tar.gz", nil, notFound},
		{"other case", "GET", "/artifacts/shop/apps/" + strings.ToUpper(hex) + ".tar.gz", nil, notFound},
		{"directory", "GET", "/artifacts/shop/apps/", nil, notFound},
		{"root", "GET", "/", nil, notFound},
		{"path that leads out", "GET", "/artifacts/shop/..%2f..%2fapps/" + hex + ".tar.gz", nil, notFound},
		{"post", "POST", file, nil, notAllowed},
		{"delete", "DELETE", file, nil, notAllowed},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, ask(t, server, test.method, test.path, test.header...)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
	// Without the API server, what is in memory is served.
	down.Store(true)
	if diff := cmp.Diff(found, ask(t, server, "GET", file)); diff != "" {
		t.Errorf("in memory (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(unavailable, ask(t, server, "GET", absent)); diff != "" {
		t.Errorf("unknown (-want +got):\n%s", diff)
	}
	// Another replica has nothing in memory.
	second := httptest.NewServer(artifact.Handler(s, logr.Discard()))
	t.Cleanup(second.Close)
	if diff := cmp.Diff(unavailable, ask(t, second, "GET", file)); diff != "" {
		t.Errorf("second replica, API server down (-want +got):\n%s", diff)
	}
	down.Store(false)
	if diff := cmp.Diff(found, ask(t, second, "GET", file)); diff != "" {
		t.Errorf("second replica (-want +got):\n%s", diff)
	}
	// An archive that was deleted is not served from memory.
	if err := s.Prune(t.Context(), apps); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(notFound, ask(t, server, "GET", file)); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
	// Requests for guessed addresses don't all reach the API server, which is not down.
	var refused atomic.Bool
	var guessing sync.WaitGroup
	end := time.Now().Add(patience)
	for range 8 {
		guessing.Go(func() {
			for !refused.Load() && time.Now().Before(end) {
				resp, err := second.Client().Get(second.URL + absent)
				if err != nil {
					t.Error(err)
					return
				}
				_ = resp.Body.Close()
				if resp.StatusCode == http.StatusServiceUnavailable {
					refused.Store(true)
				}
			}
		})
	}
	guessing.Wait()
	if !refused.Load() {
		t.Error("no request was refused")
	}
}
