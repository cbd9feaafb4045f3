package pullsecret_test

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/pullsecret"
)

func secret(config string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "pull"}, Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte(config)},
	}
}

// TestKeychain checks which credentials a repository gets.
func TestKeychain(t *testing.T) {
	first := secret(`{"auths": {
		"ghcr.io": {"username": "all", "password": "x"},
		"ghcr.io/acme": {"auth": "` + base64.StdEncoding.EncodeToString([]byte("acme:x")) + `"},
		"https://index.docker.io/v1/": {"username": "hub", "password": "x"},
		"http://localhost:5000": {"username": "local", "password": "x"}}}`)
	second := &corev1.Secret{Type: corev1.SecretTypeDockercfg, Data: map[string][]byte{
		corev1.DockerConfigKey: []byte(`{"ghcr.io": {"username": "second", "password": "x"}, "quay.io": {"username": "quay", "password": "x"}}`),
	}}
	keychain, err := pullsecret.Keychain(first, second)
	if err != nil {
		t.Fatal(err)
	}
	for repository, want := range map[string]string{
		"ghcr.io/acme":           "acme",
		"ghcr.io/acme/web":       "acme",
		"ghcr.io/acme-evil/web":  "all",
		"ghcr.io/other/web":      "all",
		"docker.io/library/web":  "hub",
		"localhost:5000/web":     "local",
		"localhost:5001/web":     "",
		"quay.io/web":            "quay",
		"ghcr.io.evil.test/acme": "",
	} {
		repo, err := name.NewRepository(repository)
		if err != nil {
			t.Fatal(err)
		}
		auth, err := keychain.Resolve(repo)
		if err != nil {
			t.Fatal(err)
		}
		config, err := auth.Authorization()
		if err != nil || config.Username != want {
			t.Errorf("%s has the credentials of %q, want %q; %v", repository, config.Username, want, err)
		}
	}
}

// TestErrors checks that unusable Secrets are refused without a word of their values.
func TestErrors(t *testing.T) {
	many := secret(`{"auths": {` + strings.Repeat(`"x": {},`, 50_000) + `"y": {}}}`)
	many.Name = "many"
	for want, s := range map[string]*corev1.Secret{
		`secret shop/pull: .dockerconfigjson is not a configuration of Docker`: secret(`{"auths": {"x": {"auth": "hunter2"}}}`),
		`secret shop/many: .dockerconfigjson is not a configuration of Docker`: many,
		`secret shop/pull: has no key .dockerconfigjson`: {
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "pull"}, Type: corev1.SecretTypeDockerConfigJson,
		},
		`secret shop/pull: has the type "Opaque"; want kubernetes.io/dockerconfigjson`: {
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "pull"}, Type: corev1.SecretTypeOpaque,
		},
	} {
		if _, err := pullsecret.Keychain(s); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestRegistry pushes to a registry that wants the credentials of the Secret, and to one
// of another host, which must not get them.
func TestRegistry(t *testing.T) {
	var mu sync.Mutex // guards sent
	var sent []string
	files := registry.New()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		mu.Lock()
		sent = append(sent, user)
		mu.Unlock()
		if user != "shop" || password != "hunter2" {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	img, err := random.Image(16, 1)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := oci.ParseRef("oci://" + host + "/acme/web:v1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	push := func(config string) error {
		keychain, err := pullsecret.Keychain(secret(config))
		if err != nil {
			t.Fatal(err)
		}
		client, err := oci.New(oci.Options{Keychain: keychain})
		if err != nil {
			t.Fatal(err)
		}
		return client.Write(t.Context(), ref, img)
	}
	if err := push(`{"auths": {"` + host + `/acme": {"username": "shop", "password": "hunter2"}}}`); err != nil {
		t.Error(err)
	}
	mu.Lock()
	sent = nil
	mu.Unlock()
	if err := push(`{"auths": {"example.com": {"username": "shop", "password": "hunter2"}}}`); !oci.Causes(err, oci.Unauthorized) {
		t.Errorf("foreign credentials: %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, user := range sent {
		if user != "" {
			t.Errorf("credentials of example.com were sent to %s", host)
		}
	}
}
