package fetch_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules/artifact"
	"github.com/pequod-io/pequod/modules/cache"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/transform"
	"github.com/pequod-io/pequod/operator/fetch"
	"github.com/pequod-io/pequod/test/harness"
)

const password = "hunter2-of-the-registry"

// shop is a module with a text in its graphs.
func shop(text string) map[string]string {
	return map[string]string{
		"cue.mod/module.cue": "module: \"example.com/shop@v1\"\nlanguage: version: \"v0.17.0\"\nsource: kind: \"self\"\n",
		"shop.cue": "package shop\n#Platform: kind: \"Shop\"\n#Input: {}\n#Render: {\n\tinput: metadata: {name: string, namespace: string}\n" +
			"\tinput: spec: #Input\n\toutput: nodes: web: resource: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: input.metadata.name, data: text: \"" + text + "\"}\n}\n",
	}
}

// server is a registry that wants the user "shop" with a password, and records requests.
type server struct {
	host string

	mu       sync.Mutex // guards requests
	requests []string
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{}
	files := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	http := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r.Method+" "+r.URL.Path)
		s.mu.Unlock()
		if user, got, _ := r.BasicAuth(); user != "shop" || got != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(http.Close)
	s.host = strings.TrimPrefix(http.URL, "http://")
	return s
}

// take returns the requests since the last call.
func (s *server) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.requests
	s.requests = nil
	return all
}

// client returns a client that may write to the server.
func (s *server) client(t *testing.T) *oci.Client {
	t.Helper()
	client, err := oci.New(oci.Options{Keychain: authn.NewKeychainFromHelper(helper{})})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// helper has the right credentials for all servers.
type helper struct{}

func (helper) Get(string) (string, string, error) { return "shop", password, nil }

// push writes a module to the server, and returns its reference and its image.
func (s *server) push(t *testing.T, tag string, files map[string]string) (oci.Ref, v1.Image) {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir, files)
	img, _, err := artifact.Pack(t.Context(), dir, tag)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := oci.ParseRef("oci://" + s.host + "/acme/shop:" + tag)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.client(t).Write(t.Context(), ref, img); err != nil {
		t.Fatal(err)
	}
	s.take()
	return ref, img
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// machine gives the machine itself credentials, which must never be used.
func machine(t *testing.T, host string) {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"config.json": fmt.Sprintf(`{"auths": {%q: {"username": "shop", "password": %q}}}`, host, password),
		"netrc":       "machine 127.0.0.1 login shop password " + password + "\n",
	})
	t.Setenv("DOCKER_CONFIG", dir)
	t.Setenv("NETRC", filepath.Join(dir, "netrc"))
}

// cluster is a control plane with a second namespace.
type cluster struct {
	*harness.Cluster
	other string
}

func start(t *testing.T) cluster {
	t.Helper()
	c := cluster{Cluster: harness.Start(t)}
	c.other = c.Unique("other")
	namespaces := c.Client.CoreV1().Namespaces()
	if _, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.other}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = namespaces.Delete(context.Background(), c.other, metav1.DeleteOptions{}) })
	return c
}

func (c cluster) secret(t *testing.T, name string, kind corev1.SecretType, data map[string]string) {
	t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Type: kind, StringData: data}
	if _, err := c.Client.CoreV1().Secrets(c.Namespace).Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// pullSecret creates the Secret "pull" with the credentials for a host.
func (c cluster) pullSecret(t *testing.T, host string) {
	t.Helper()
	c.secret(t, "pull", corev1.SecretTypeDockerConfigJson, map[string]string{
		corev1.DockerConfigJsonKey: fmt.Sprintf(`{"auths": {%q: {"username": "shop", "password": %q}}}`, host, password),
	})
}

// fetcher returns a fetcher with a new cache.
func (c cluster) fetcher(t *testing.T, change func(*fetch.Options)) *fetch.Fetcher {
	t.Helper()
	o := fetch.Options{Client: c.Client.CoreV1(), Cache: cache.Options{Dir: t.TempDir()}}
	if change != nil {
		change(&o)
	}
	return fetch.New(o)
}

func transformOf(namespace string, ref v1alpha1.CueRef, policies ...v1alpha1.CueRef) *v1alpha1.Transform {
	return &v1alpha1.Transform{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"},
		Spec:       v1alpha1.TransformSpec{CueRef: ref, Policies: policies},
	}
}

// loads returns the problems of loading sources, or "".
func loads(t *testing.T, fetched *fetch.Fetched) string {
	t.Helper()
	sources, err := transform.Decode(fetched.Sources)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sources.Load(); err != nil {
		return err.Error()
	}
	return ""
}

func wantReason(t *testing.T, what string, err error, want string) {
	t.Helper()
	if got := fetch.Reason(err); err == nil || got != want {
		t.Errorf("%s: %s, want %s: %v", what, got, want, err)
	}
	if err != nil && strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%s: a credential is shown: %v", what, err)
	}
}

func pointer(s string) *string { return &s }

// TestRegistry fetches a private module of a registry, again and from another namespace.
func TestRegistry(t *testing.T) {
	c := start(t)
	s := newServer(t)
	machine(t, s.host)
	c.pullSecret(t, s.host)
	ref, _ := s.push(t, "v1.0.0", shop("one"))
	f := c.fetcher(t, nil)
	private := v1alpha1.CueRef{Type: v1alpha1.CueRefOCI, Ref: ref.String(), PullSecretRef: pointer("pull")}
	first, err := f.Fetch(t.Context(), transformOf(c.Namespace, private))
	if err != nil {
		t.Fatal(err)
	}
	if text := loads(t, first); text != "" || !first.Moving || !strings.HasPrefix(first.Ref, ref.String()+"@sha256:") || first.Digest != transform.Digest(first.Sources) {
		t.Errorf("ref %s, moving %v, digest %s, problems %s", first.Ref, first.Moving, first.Digest, text)
	}
	s.take()

	// A tag that has not moved costs no download.
	again, err := f.Fetch(t.Context(), transformOf(c.Namespace, private))
	if err != nil || again.Digest != first.Digest {
		t.Errorf("again: %+v, %v", again, err)
	}
	requests := s.take()
	if slices.ContainsFunc(requests, func(r string) bool { return strings.Contains(r, "/blobs/") }) || len(requests) > 4 {
		t.Errorf("requests for a tag that has not moved: %q", requests)
	}
	if stats := f.CacheStats(); stats.Hits == 0 || stats.Misses == 0 || stats.Entries == 0 || stats.SizeBytes == 0 {
		t.Errorf("cache: %+v", stats)
	}

	// Neither the credentials nor the content in the cache are for others.
	pinned := v1alpha1.CueRef{Type: v1alpha1.CueRefOCI, Ref: first.Ref}
	for what, test := range map[string]struct {
		namespace string
		ref       v1alpha1.CueRef
		want      string
	}{
		"other namespace":                      {c.other, v1alpha1.CueRef{Type: v1alpha1.CueRefOCI, Ref: ref.String()}, "Unauthorized"},
		"other namespace, by digest":           {c.other, pinned, "Unauthorized"},
		"other namespace, same name of Secret": {c.other, private, fetch.SecretNotFound},
		"no credentials":                       {c.Namespace, v1alpha1.CueRef{Type: v1alpha1.CueRefOCI, Ref: ref.String()}, "Unauthorized"},
		"no such tag":                          {c.Namespace, v1alpha1.CueRef{Type: v1alpha1.CueRefOCI, Ref: strings.Replace(ref.String(), "v1.0.0", "v2.0.0", 1), PullSecretRef: pointer("pull")}, fetch.NotFound},
	} {
		_, err := f.Fetch(t.Context(), transformOf(test.namespace, test.ref))
		wantReason(t, what, err, test.want)
		if err != nil && (strings.Contains(err.Error(), "docker login") || test.want == "Unauthorized" && !strings.Contains(err.Error(), "pullSecretRef")) {
			t.Errorf("%s: the message is not for clusters: %v", what, err)
		}
	}
	s.take()
	if got, err := f.Fetch(t.Context(), transformOf(c.Namespace, pinned)); err != nil || got.Moving || len(s.take()) > 0 {
		t.Errorf("by digest, from the cache: %+v, %v", got, err)
	}

	// The module and its policies have their own credentials.
	_, err = f.Fetch(t.Context(), transformOf(c.Namespace, private, v1alpha1.CueRef{Type: v1alpha1.CueRefOCI, Ref: ref.String()}))
	wantReason(t, "policy without credentials", err, "Unauthorized")

	// The tag moves.
	s.push(t, "v1.0.0", shop("two"))
	moved, err := f.Fetch(t.Context(), transformOf(c.Namespace, private))
	if err != nil || moved.Digest == first.Digest || moved.Ref == first.Ref {
		t.Errorf("moved: %+v, %v", moved, err)
	}
}

// TestNotAllowed checks references that a cluster refuses, whatever the API server has let
// pass.
func TestNotAllowed(t *testing.T) {
	c := start(t)
	f := c.fetcher(t, nil)
	dir := t.TempDir()
	writeFiles(t, dir, shop("x"))
	for _, test := range []struct {
		ref  v1alpha1.CueRef
		want string
	}{
		{v1alpha1.CueRef{Type: v1alpha1.CueRefPath, Ref: dir}, fetch.NotAllowed},
		{v1alpha1.CueRef{Type: v1alpha1.CueRefOCI, Ref: "oci-layout:" + dir}, fetch.NotAllowed},
		{v1alpha1.CueRef{Type: v1alpha1.CueRefOCI, Ref: dir + "/x.oci.tar"}, fetch.NotAllowed},
		{v1alpha1.CueRef{Type: v1alpha1.CueRefOCI, Ref: "oci://x"}, fetch.InvalidReference},
		{v1alpha1.CueRef{Type: v1alpha1.CueRefOCI, Ref: "example.com/shop@v1"}, fetch.InvalidReference},
		{v1alpha1.CueRef{Type: v1alpha1.CueRefGit, Ref: "git::file://" + dir}, fetch.NotAllowed},
		{v1alpha1.CueRef{Type: v1alpha1.CueRefGit, Ref: "git::http://127.0.0.1/shop.git"}, fetch.NotAllowed},
		{v1alpha1.CueRef{Type: v1alpha1.CueRefGit, Ref: "x"}, fetch.InvalidReference},
		{v1alpha1.CueRef{Type: v1alpha1.CueRefEmbedded, Ref: "none"}, fetch.InvalidReference},
		{v1alpha1.CueRef{Type: v1alpha1.CueRefConfigMap, Ref: "a/b/c"}, fetch.InvalidReference},
		{v1alpha1.CueRef{Type: v1alpha1.CueRefEmbedded, Ref: "webservice", Verify: &v1alpha1.Verify{Provider: "cosign", SecretRef: "x"}}, fetch.InvalidReference},
		{v1alpha1.CueRef{Type: v1alpha1.CueRefOCI, Ref: "oci://localhost/x:v1", Verify: &v1alpha1.Verify{Provider: "notation", SecretRef: "x"}}, fetch.InvalidReference},
		{v1alpha1.CueRef{Type: v1alpha1.CueRefOCI, Ref: "oci://localhost/x:v1", Verify: &v1alpha1.Verify{Provider: "cosign"}}, fetch.InvalidReference},
	} {
		_, err := f.Fetch(t.Context(), transformOf(c.Namespace, test.ref))
		wantReason(t, test.ref.Ref, err, test.want)
		_, err = f.Fetch(t.Context(), transformOf(c.Namespace, v1alpha1.CueRef{Type: v1alpha1.CueRefEmbedded, Ref: "webservice"}, test.ref))
		wantReason(t, "policy "+test.ref.Ref, err, test.want)
	}
	for _, ref := range []v1alpha1.CueRef{
		{Type: v1alpha1.CueRefEmbedded, Ref: "webservice"},
		{Type: v1alpha1.CueRefInline, Ref: shop("x")["shop.cue"]},
	} {
		fetched, err := f.Fetch(t.Context(), transformOf(c.Namespace, ref))
		if err != nil || fetched.Moving || fetched.Ref != "" || loads(t, fetched) != "" {
			t.Errorf("%s: %+v, %v", ref.Type, fetched, err)
		}
	}
	// Problems of an inline module name its field.
	fetched, err := f.Fetch(t.Context(), transformOf(c.Namespace, v1alpha1.CueRef{Type: v1alpha1.CueRefInline, Ref: "package shop\nx: 1 & 2\n"}))
	if err != nil {
		t.Fatal(err)
	}
	if text := loads(t, fetched); !strings.HasPrefix(text, "spec.cueRef.ref[main.cue]:2:") {
		t.Errorf("problem of an inline module: %s", text)
	}
}

// TestConfigMaps uses ConfigMaps of the Transform's namespace only.
func TestConfigMaps(t *testing.T) {
	c := start(t)
	create := func(namespace, name string, labels map[string]string) {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Data: map[string]string{"shop.cue": shop("one")["shop.cue"]}}
		if _, err := c.Client.CoreV1().ConfigMaps(namespace).Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	module := map[string]string{v1alpha1.LabelCueModule: "true"}
	create(c.Namespace, "shop", module)
	create(c.Namespace, "unmarked", nil)
	create(c.other, "secret", module)
	f := c.fetcher(t, nil)
	get := func(ref string) (*fetch.Fetched, error) {
		return f.Fetch(t.Context(), transformOf(c.Namespace, v1alpha1.CueRef{Type: v1alpha1.CueRefConfigMap, Ref: ref}))
	}
	first, err := get("shop")
	if err != nil || !first.Moving || loads(t, first) != "" {
		t.Fatalf("%+v, %v", first, err)
	}
	if same, err := get(c.Namespace + "/shop"); err != nil || same.Digest != first.Digest {
		t.Errorf("with its namespace: %v", err)
	}
	for ref, want := range map[string]string{"none": fetch.NotFound, "unmarked": fetch.ModuleInvalid, c.other + "/secret": fetch.NotAllowed, c.other + "/none": fetch.NotAllowed} {
		_, err := get(ref)
		wantReason(t, ref, err, want)
	}
	maps := c.Client.CoreV1().ConfigMaps(c.Namespace)
	cm, err := maps.Get(t.Context(), "shop", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cm.Data["shop.cue"] = shop("two")["shop.cue"]
	if _, err := maps.Update(t.Context(), cm, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if moved, err := get("shop"); err != nil || moved.Digest == first.Digest {
		t.Errorf("changed: %+v, %v", moved, err)
	}
	// An account that may not read ConfigMaps gets the API server's answer.
	stranger := fetch.New(fetch.Options{Client: clientOf(t, c.ServiceAccount(t, c.Namespace, "stranger"))})
	_, err = stranger.Fetch(t.Context(), transformOf(c.Namespace, v1alpha1.CueRef{Type: v1alpha1.CueRefConfigMap, Ref: "shop"}))
	wantReason(t, "stranger", err, fetch.Forbidden)
}

// TestTimeout checks that a server which never answers ends a fetch.
func TestTimeout(t *testing.T) {
	c := start(t)
	done := make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-done:
		}
	}))
	t.Cleanup(hanging.Close)
	t.Cleanup(func() { close(done) })
	var reported []error
	f := c.fetcher(t, func(o *fetch.Options) {
		o.Timeout = 200 * time.Millisecond
		o.Fetched = func(_ v1alpha1.CueRefType, _ time.Duration, err error) { reported = append(reported, err) }
	})
	_, err := f.Fetch(t.Context(), transformOf(c.Namespace, v1alpha1.CueRef{Type: v1alpha1.CueRefOCI, Ref: "oci://" + strings.TrimPrefix(hanging.URL, "http://") + "/x:v1"}))
	wantReason(t, "hanging", err, fetch.TimedOut)
	if !fetch.Transient(err) {
		t.Errorf("not transient: %v", err)
	}
	if len(reported) != 1 || reported[0] == nil {
		t.Errorf("reported: %v", reported)
	}
}

func clientOf(t *testing.T, config *rest.Config) fetch.Client {
	t.Helper()
	client, err := typedcorev1.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}
