package pullsecret_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/crypto/ssh"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/modules/git"
	"github.com/pequod-io/pequod/modules/pullsecret"
)

func gitSecret(kind corev1.SecretType, pairs ...string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "git"}, Type: kind, Data: map[string][]byte{}}
	for i := 0; i < len(pairs); i += 2 {
		s.Data[pairs[i]] = []byte(pairs[i+1])
	}
	return s
}

// TestGit checks which credentials for git Secrets have, and that unusable ones are refused
// without a word of their values.
func TestGit(t *testing.T) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte("hunter2"))
	if err != nil {
		t.Fatal(err)
	}
	key := string(pem.EncodeToMemory(block))
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	known := "example.com " + string(ssh.MarshalAuthorizedKey(signer.PublicKey()))
	byKey := &git.Auth{Key: []byte(key), Passphrase: "hunter2", KnownHosts: []byte(known)}
	const basic, byssh, opaque = corev1.SecretTypeBasicAuth, corev1.SecretTypeSSHAuth, corev1.SecretTypeOpaque
	for _, test := range []struct {
		secret *corev1.Secret
		want   *git.Auth
		err    string
	}{
		{secret: gitSecret(basic, "username", "me", "password", "hunter2"), want: &git.Auth{Username: "me", Password: "hunter2"}},
		{secret: gitSecret(opaque, "username", "me", "password", "hunter2", "ca.crt", "x"), want: &git.Auth{Username: "me", Password: "hunter2"}},
		{secret: gitSecret(opaque, "bearerToken", "hunter2"), want: &git.Auth{BearerToken: "hunter2"}},
		{secret: gitSecret(opaque, "ca.crt", "x"), want: &git.Auth{}},
		{secret: gitSecret(byssh, "ssh-privatekey", key, "known_hosts", known, "password", "hunter2"), want: byKey},
		{secret: gitSecret(opaque, "identity", key, "identity.pub", "x", "known_hosts", known, "password", "hunter2"), want: byKey},
		{secret: gitSecret(byssh, "ssh-privatekey", key, "password", "hunter2"), err: "secret shop/git: has a private key, but no key known_hosts with the public keys of servers"},
		{secret: gitSecret(byssh, "ssh-privatekey", key, "known_hosts", known, "password", "hunter3"), err: "secret shop/git: the private key is not one in PEM format, or is encrypted with another password"},
		{secret: gitSecret(byssh, "ssh-privatekey", "hunter2", "known_hosts", known), err: "secret shop/git: the private key is not one in PEM format, or is encrypted with another password"},
		{secret: gitSecret(byssh, "ssh-privatekey", key, "password", "hunter2", "known_hosts", "hunter2"), err: "secret shop/git: known_hosts is not in the format of OpenSSH"},
		{secret: gitSecret(opaque, "bearerToken", "hunter2", "password", "hunter2"), err: "secret shop/git: has both bearerToken and username or password"},
		{secret: gitSecret(basic, "password", "hunter2"), err: "secret shop/git: has no credentials for git; want username and password, bearerToken, or ssh-privatekey and known_hosts"},
		{secret: gitSecret(basic, "username", "me", "ca.crt", "x"), err: "secret shop/git: has no credentials for git; want username and password, bearerToken, or ssh-privatekey and known_hosts"},
		{secret: gitSecret(opaque), err: "secret shop/git: has no credentials for git; want username and password, bearerToken, or ssh-privatekey and known_hosts"},
		{secret: gitSecret(corev1.SecretTypeDockerConfigJson), err: `secret shop/git: has the type "kubernetes.io/dockerconfigjson"; want kubernetes.io/basic-auth, kubernetes.io/ssh-auth or Opaque`},
	} {
		got, err := pullsecret.Git(test.secret)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != test.err || test.want != nil && !cmp.Equal(got, test.want, cmpopts.EquateEmpty()) {
			t.Errorf("%s %v: %v, want %q", test.secret.Type, cmp.Diff(got, test.want), err, test.err)
		}
	}
}

// TestTransport reaches a server whose authority only a Secret names.
func TestTransport(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	if transport, err := pullsecret.Transport(gitSecret(corev1.SecretTypeOpaque)); transport != nil || err != nil {
		t.Errorf("without ca.crt: %v, %v", transport, err)
	}
	transport, err := pullsecret.Transport(gitSecret(corev1.SecretTypeOpaque), gitSecret(corev1.SecretTypeOpaque, "ca.crt", ca))
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: transport}).Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	_, err = pullsecret.Transport(gitSecret(corev1.SecretTypeOpaque, "ca.crt", "hunter2"))
	if err == nil || strings.Contains(err.Error(), "hunter2") || err.Error() != "secret shop/git: ca.crt has no certificate in PEM format" {
		t.Errorf("bad ca.crt: %v", err)
	}
}
