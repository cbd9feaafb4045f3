package artifact_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
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
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/config"
	"github.com/pequod-io/pequod/operator/artifact"
	"github.com/pequod-io/pequod/operator/blob"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/inprocess"
)

var apps, other = types.NamespacedName{Namespace: "shop", Name: "apps"}, types.NamespacedName{Namespace: "shop", Name: "apps2"}

// patience is how long a test waits for what must happen.
const patience = 3 * time.Minute

// newStore returns a store in the namespace of a test, and its client. Both have the rights of the
// manager there.
func newStore(t *testing.T) (*artifact.Store, client.WithWatch) {
	t.Helper()
	c := harness.Start(t)
	var role rbacv1.Role
	for document := range strings.SplitSeq(string(config.Operator), "\n---\n") {
		if strings.Contains(document, "\nkind: Role\n") && strings.Contains(document, "name: pequod-manager-revisions\n") {
			if err := yaml.UnmarshalStrict([]byte(document), &role); err != nil {
				t.Fatal(err)
			}
		}
	}
	inprocess.Account(t, c, "manager", role.Rules...)
	scheme := runtime.NewScheme()
	if err := appsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	api, err := client.NewWithWatch(c.ServiceAccount(t, c.Namespace, "manager"), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return &artifact.Store{Client: api, API: api, Namespace: c.Namespace, Now: time.Now}, api
}

// count returns the number of objects that are stored.
func count(t *testing.T, s *artifact.Store, api client.Client) int {
	t.Helper()
	var all appsv1.ControllerRevisionList
	if err := api.List(t.Context(), &all, client.InNamespace(s.Namespace)); err != nil {
		t.Fatal(err)
	}
	return len(all.Items)
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
func save(t *testing.T, s *artifact.Store, of types.NamespacedName, data []byte, keep ...string) string {
	t.Helper()
	digest, err := s.Save(t.Context(), of, data, keep...)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("sha256:%x", sha256.Sum256(data)); digest != want {
		t.Fatalf("digest %s, want %s", digest, want)
	}
	return digest
}

// prune prunes the archives of an InstanceSource.
func prune(t *testing.T, s *artifact.Store, of types.NamespacedName, keep ...string) {
	t.Helper()
	if err := s.Prune(t.Context(), of, keep...); err != nil {
		t.Fatal(err)
	}
}

// Archives are read back as they were saved. Equal archives are stored once, and pruned when the last
// InstanceSource loses them.
func TestStore(t *testing.T) {
	t.Parallel()
	s, api := newStore(t)
	large, small := random(t, 2_500_000), []byte("small")
	first := save(t, s, apps, large)
	second := save(t, s, apps, small, first)
	save(t, s, apps, large)
	save(t, s, other, large)
	objects := func(want int) {
		t.Helper()
		if n := count(t, s, api); n != want {
			t.Errorf("%d objects; want %d", n, want)
		}
	}
	objects(3 + 1 + 3) // the references, and the parts
	read := func(of types.NamespacedName, digest string, want []byte) {
		t.Helper()
		got, err := s.Read(t.Context(), of, digest)
		if want == nil && !apierrors.IsNotFound(err) || want != nil && (err != nil || !bytes.Equal(got, want)) {
			t.Errorf("archive %s of %s: %d bytes, %v", digest, of, len(got), err)
		}
	}
	read(apps, first, large)
	read(apps, second, small)
	read(other, second, nil) // it is another's
	owners, err := s.Owners(t.Context())
	if err != nil || len(owners) != 2 {
		t.Errorf("owners %v, %v", owners, err)
	}
	prune(t, s, apps, second, "sha256:none")
	read(apps, first, nil)
	read(apps, second, small)
	read(other, first, large)
	objects(2 + 1 + 3)
	save(t, s, apps, large, second)
	read(apps, first, large)
	third := save(t, s, apps, []byte("third"), first) // which deletes what isn't kept
	read(apps, second, nil)
	read(apps, first, large)
	read(apps, third, []byte("third"))
	objects(3 + 1 + 3)
	prune(t, s, apps)
	read(apps, third, nil)
	read(other, first, large)
	objects(1 + 3)
	owners, err = s.Owners(t.Context())
	if diff := cmp.Diff([]types.NamespacedName{other}, owners); diff != "" || err != nil {
		t.Errorf("owners (-want +got):\n%s%v", diff, err)
	}
	prune(t, s, other)
	objects(0)
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
	left.Store(3)
	s.Client = interceptor.NewClient(api, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		if left.Add(-1) < 0 {
			return down
		}
		return c.Create(ctx, o, opts...)
	}})
	data := random(t, 2_500_000)
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(data))
	interrupted := func() {
		t.Helper()
		if _, err := s.Save(t.Context(), apps, data); !errors.Is(err, down) {
			t.Errorf("saving: %v", err)
		}
		if _, err := s.Read(t.Context(), apps, digest); !apierrors.IsNotFound(err) {
			t.Errorf("reading what was not saved: %v", err)
		}
	}
	interrupted()
	whole := func() {
		t.Helper()
		left.Store(4)
		save(t, s, apps, data)
		if got, err := s.Read(t.Context(), apps, digest); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
	whole()
	// remove deletes the object with a name, and checks how many are left.
	remove := func(name string, want int) {
		t.Helper()
		o := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}
		if err := api.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if n := count(t, s, api); n != want {
			t.Errorf("%d objects are left; want %d", n, want)
		}
	}
	archive := "pequod-archive-" + strings.TrimPrefix(digest, "sha256:")
	remove(archive+"-1", 3)
	whole()
	// What is left of an archive has a reference, and is deleted with it.
	remove(archive+"-0", 3)
	owners, err := s.Owners(t.Context())
	if diff := cmp.Diff([]types.NamespacedName{apps}, owners); diff != "" || err != nil {
		t.Errorf("owners (-want +got):\n%s%v", diff, err)
	}
	prune(t, s, apps, "sha256:other")
	if n := count(t, s, api); n != 0 {
		t.Errorf("%d objects are left", n)
	}
	// A process that is killed while it prunes leaves the parts. Each Prune and Save deletes them.
	for _, next := range []func(){
		func() { prune(t, s, other, "sha256:other") },
		func() { prune(t, s, types.NamespacedName{}) },
		func() { left.Store(2); save(t, s, other, []byte("small")); prune(t, s, other) },
	} {
		whole()
		sum := sha256.Sum256([]byte(apps.String() + "\x00" + digest))
		remove(fmt.Sprintf("pequod-reference-%x-0", sum[:16]), 3)
		if _, err := s.Read(t.Context(), apps, digest); !apierrors.IsNotFound(err) {
			t.Errorf("reading without a reference: %v", err)
		}
		next()
		if n := count(t, s, api); n != 0 {
			t.Errorf("%d objects are left", n)
		}
	}
	// What fails isn't charged: all of these would exceed the rate.
	data = random(t, artifact.MaxSize)
	digest = fmt.Sprintf("sha256:%x", sha256.Sum256(data))
	for range 4 {
		left.Store(0)
		interrupted()
	}
}

// Archives that earlier versions saved are served until their InstanceSource has another one.
func TestEarlierVersion(t *testing.T) {
	t.Parallel()
	s, api := newStore(t)
	s.TotalQuota = 2_510_000 // for which they don't count
	data := random(t, 2_500_000)
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(data))
	earlier := blob.Store{Client: api, API: api, Namespace: s.Namespace, Field: "archive"}
	for _, of := range []types.NamespacedName{apps, other} {
		sum := sha256.Sum256([]byte(of.String() + "\x00" + digest))
		b := blob.Blob{Name: fmt.Sprintf("pequod-artifact-%x", sum[:16]), Annotations: map[string]string{"pequod.io/instance-source": of.String()}}
		if err := earlier.Save(t.Context(), b, data); err != nil {
			t.Fatal(err)
		}
	}
	served := func(of types.NamespacedName, want bool) {
		t.Helper()
		if got, err := s.Read(t.Context(), of, digest); want != (err == nil && bytes.Equal(got, data)) || !want && !apierrors.IsNotFound(err) {
			t.Errorf("archive of %s: %d bytes, %v", of, len(got), err)
		}
	}
	if saved, err := s.Has(t.Context(), apps, digest); saved || err != nil {
		t.Errorf("it counts as saved: %t, %v", saved, err)
	}
	prune(t, s, types.NamespacedName{})
	served(apps, true)
	save(t, s, apps, data)
	save(t, s, other, []byte("small"), digest)
	served(other, true)
	if n := count(t, s, api); n != 2*3+(1+3)+(1+1) {
		t.Errorf("%d objects", n)
	}
	prune(t, s, apps, digest)
	served(apps, true)
	served(other, true)
	prune(t, s, other)
	served(other, false)
	if n := count(t, s, api); n != 1+3 {
		t.Errorf("%d objects are left", n)
	}
}

// answer has the parts of an HTTP response that tests compare.
type answer struct {
	Status                int
	Type, Length, ETag    string
	Body, Allow, NextTime string
}

// serve serves the archives of a store.
func serve(t *testing.T, s *artifact.Store) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.Config = artifact.Server(s, logr.Discard())
	server.Start()
	t.Cleanup(server.Close)
	return server
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
	server := serve(t, s)
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
	second := serve(t, s)
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

// Clients that don't read what they ask for keep no other client waiting, however many connections one of them
// has, and together no longer than a response may take.
func TestSlowReaders(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	const size = 7 << 20 // more than the system buffers
	digest := save(t, s, apps, random(t, size))
	server := serve(t, s)
	file := "/artifacts/shop/apps/" + strings.TrimPrefix(digest, "sha256:") + ".tar.gz"
	// stuck asks for the archive by connections from an address, and returns how many are answered with it.
	stuck := func(address string, connections int) (served int) {
		t.Helper()
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
		for range connections {
			conn, err := dialer.DialContext(t.Context(), "tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
			if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
				t.Fatal(err)
			}
			status := make([]byte, len("HTTP/1.1 200"))
			if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", file); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(conn, status); err != nil {
				t.Fatal(err)
			}
			if string(status) == "HTTP/1.1 200" {
				served++
			}
		}
		return served
	}
	if n := stuck("127.0.0.2", 16); n != 8 {
		t.Errorf("%d connections of one client are served", n)
	}
	if a := ask(t, server, "GET", file); a.Status != http.StatusOK || len(a.Body) != size {
		t.Errorf("beside one client: %d with %d bytes", a.Status, len(a.Body))
	}
	stuck("127.0.0.3", 8)
	full := time.Now()
	for refused := false; ; refused = true {
		a := ask(t, server, "GET", file)
		if a.Status == http.StatusOK {
			if after := time.Since(full); !refused || len(a.Body) != size || after > time.Minute {
				t.Errorf("beside all: %d bytes after %s, refused before: %t", len(a.Body), after, refused)
			}
			t.Logf("served after %s", time.Since(full))
			return
		}
		if time.Since(full) > patience {
			t.Fatalf("status %d", a.Status)
		}
		time.Sleep(200 * time.Millisecond)
	}
}
