package harness

import (
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/test/server"
)

// ServiceAccount returns a client configuration for a service account, and
// creates the account if it does not exist. The account has only the rights that
// roles bound to it grant.
func (c *Cluster) ServiceAccount(t testing.TB, namespace, name string) *rest.Config {
	t.Helper()
	accounts := c.Client.CoreV1().ServiceAccounts(namespace)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := accounts.Create(t.Context(), account, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	config, err := server.ServiceAccount(t.Context(), c.Config, namespace, name)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// WriteKubeconfig writes a kubeconfig with the access of config, for programs
// that the test starts, and returns its path. Its default namespace is the
// test's.
func (c *Cluster) WriteKubeconfig(t testing.TB, config *rest.Config) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := server.WriteKubeconfig(path, config, c.Namespace); err != nil {
		t.Fatal(err)
	}
	return path
}
