package credentials_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules/git"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/operator/credentials"
	"github.com/pequod-io/pequod/test/harness"
)

// The credentials that servers of this test want. User and password of Secrets and of
// the machine's own configuration differ, so that tests see which are sent.
const (
	password    = "hunter2-of-the-registry"
	gitPassword = "hunter2-of-the-git-server"
	ownPassword = "hunter2-of-the-machine"
)

// server starts a server that wants the user "shop" with a password, and returns its host and
// the users that it saw.
func server(t *testing.T, password string, next http.Handler) (string, func() []string) {
	var mu sync.Mutex // guards users
	var users []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, got, _ := r.BasicAuth()
		mu.Lock()
		users = append(users, user)
		mu.Unlock()
		if user != "shop" || got != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://"), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(users)
	}
}

func create(t *testing.T, c *harness.Cluster, name string, kind corev1.SecretType, data map[string]string) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Type: kind, StringData: data}
	if _, err := c.Client.CoreV1().Secrets(c.Namespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func dockerConfig(host string) map[string]string {
	return map[string]string{corev1.DockerConfigJsonKey: fmt.Sprintf(`{"auths": {%q: {"username": "shop", "password": %q}}}`, host, password)}
}

// TestRegistry reads pull secrets by reference and by service account, and uses a registry
// with them.
func TestRegistry(t *testing.T) {
	c := harness.Start(t)
	host, users := server(t, password, registry.New())
	create(t, c, "pull", corev1.SecretTypeDockerConfigJson, dockerConfig(host))
	create(t, c, "other", corev1.SecretTypeDockerConfigJson, dockerConfig("example.com"))
	account := &corev1.ServiceAccount{
		ObjectMeta:       metav1.ObjectMeta{Name: "renderer"},
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: "none"}, {Name: "pull"}},
	}
	if _, err := c.Client.CoreV1().ServiceAccounts(c.Namespace).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// The configuration of Docker on the machine has credentials, too, which must not be used.
	own := t.TempDir()
	t.Setenv("DOCKER_CONFIG", own)
	config := fmt.Sprintf(`{"auths": {%q: {"username": "machine", "password": %q}}}`, host, ownPassword)
	if err := os.WriteFile(filepath.Join(own, "config.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	img, err := random.Image(16, 1)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := oci.ParseRef("oci://" + host + "/shop/web:v1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	name := func(s string) *string { return &s }
	for _, test := range []struct {
		secret  *string
		account string
		works   bool
	}{
		{name("pull"), "", true}, {nil, "renderer", true}, {name("other"), "renderer", true},
		{name("other"), "", false}, {nil, "default", false}, {nil, "", false},
	} {
		got, err := credentials.Read(t.Context(), c.Client.CoreV1(), c.Namespace, v1alpha1.CueRef{Type: v1alpha1.CueRefOCI, PullSecretRef: test.secret}, test.account)
		if err != nil {
			t.Fatal(err)
		}
		client, err := oci.New(oci.Options{Keychain: got.Keychain, Transport: got.Transport})
		if err != nil {
			t.Fatal(err)
		}
		err = client.Write(t.Context(), ref, img)
		if test.works && err != nil || !test.works && !oci.Causes(err, oci.Unauthorized) {
			t.Errorf("%+v: %v", test, err)
		}
	}
	for _, user := range users() {
		if user == "machine" {
			t.Error("the machine's own credentials were sent")
		}
	}
}

// TestGit reads credentials for git by reference. The repository doesn't exist: the server's
// answer to right credentials is 404.
func TestGit(t *testing.T) {
	c := harness.Start(t)
	host, _ := server(t, gitPassword, http.NotFoundHandler())
	create(t, c, "git", corev1.SecretTypeBasicAuth, map[string]string{"username": "shop", "password": gitPassword})
	create(t, c, "wrong", corev1.SecretTypeBasicAuth, map[string]string{"username": "shop", "password": password})
	netrc := filepath.Join(t.TempDir(), "netrc")
	if err := os.WriteFile(netrc, []byte("machine 127.0.0.1 login shop password "+gitPassword+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("NETRC", netrc)
	ref, err := git.ParseRef("git::http://" + host + "/web.git")
	if err != nil {
		t.Fatal(err)
	}
	for secret, want := range map[string]oci.Cause{"git": oci.NotFound, "wrong": oci.Unauthorized, "": oci.Unauthorized} {
		r := v1alpha1.CueRef{Type: v1alpha1.CueRefGit}
		if secret != "" {
			r.PullSecretRef = &secret
		}
		got, err := credentials.Read(t.Context(), c.Client.CoreV1(), c.Namespace, r, "default")
		if err != nil {
			t.Fatal(err)
		}
		_, err = git.Fetch(t.Context(), ref, git.Options{Auth: got.Git, Transport: got.Transport})
		if !oci.Causes(err, want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", secret, err)
		}
	}
}

// TestErrors checks the errors about Secrets that can't be read or used.
func TestErrors(t *testing.T) {
	c := harness.Start(t)
	create(t, c, "git", corev1.SecretTypeOpaque, map[string]string{"identity": password, "known_hosts": password})
	create(t, c, "ca", corev1.SecretTypeOpaque, map[string]string{"ca.crt": password})
	// An account without rights, as an attacker's reference would be read with.
	config := c.ServiceAccount(t, c.Namespace, "stranger")
	clients := map[bool]credentials.Client{false: c.Client.CoreV1(), true: clientOf(t, config)}
	for _, test := range []struct {
		source   v1alpha1.CueRefType
		secret   string
		account  string
		stranger bool
		want     string
	}{
		{v1alpha1.CueRefGit, "git", "", false, "pullSecretRef: secret NS/git: the private key is not one in PEM format, or is encrypted with another password"},
		{v1alpha1.CueRefGit, "ca", "", false, "pullSecretRef: secret NS/ca: ca.crt has no certificate in PEM format"},
		{v1alpha1.CueRefOCI, "git", "", false, `secret NS/git: has the type "Opaque"; want kubernetes.io/dockerconfigjson`},
		{v1alpha1.CueRefOCI, "none", "", false, `pullSecretRef: secret NS/none: secrets "none" not found`},
		{v1alpha1.CueRefOCI, "", "none", false, `service account NS/none: serviceaccounts "none" not found`},
		{v1alpha1.CueRefOCI, "git", "", true, `pullSecretRef: secret NS/git: secrets "git" is forbidden: User "system:serviceaccount:NS:stranger" cannot get resource "secrets" in API group "" in the namespace "NS"`},
	} {
		ref := v1alpha1.CueRef{Type: test.source}
		if test.secret != "" {
			ref.PullSecretRef = &test.secret
		}
		_, err := credentials.Read(t.Context(), clients[test.stranger], c.Namespace, ref, test.account)
		if want := strings.ReplaceAll(test.want, "NS", c.Namespace); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func clientOf(t *testing.T, config *rest.Config) credentials.Client {
	t.Helper()
	client, err := typedcorev1.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}
