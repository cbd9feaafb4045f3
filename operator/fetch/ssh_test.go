package fetch_test

import (
	"encoding/pem"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
	corev1 "k8s.io/api/core/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/fetch"
	optransform "github.com/pequod-io/pequod/operator/transform"
	"github.com/pequod-io/pequod/test/sshgit"
)

var _ optransform.Fetcher = (*fetch.Fetcher)(nil)

// newSSHKey returns a signer, and its private key in PEM format.
func newSSHKey(t *testing.T) (ssh.Signer, string) {
	t.Helper()
	key, signer := sshgit.NewKey(t)
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	return signer, string(pem.EncodeToMemory(block))
}

// TestSSH fetches a module of a git server by ssh, with the key and the known hosts of a
// Secret.
func TestSSH(t *testing.T) {
	c := start(t)
	r := newRepository(t)
	host, _ := newSSHKey(t)
	user, private := newSSHKey(t)
	other, foreign := newSSHKey(t)
	address := sshgit.Serve(t, host, user.PublicKey())
	t.Setenv("SSH_AUTH_SOCK", "") // the process has no agent
	line := func(key ssh.PublicKey) string {
		return knownhosts.Line([]string{knownhosts.Normalize(address)}, key) + "\n"
	}
	c.secret(t, "right", corev1.SecretTypeSSHAuth, map[string]string{"ssh-privatekey": private, "known_hosts": line(host.PublicKey())})
	c.secret(t, "foreign", corev1.SecretTypeOpaque, map[string]string{"identity": foreign, "known_hosts": line(host.PublicKey())})
	c.secret(t, "impostor", corev1.SecretTypeSSHAuth, map[string]string{"ssh-privatekey": private, "known_hosts": line(other.PublicKey())})
	c.secret(t, "unknown", corev1.SecretTypeSSHAuth, map[string]string{"ssh-privatekey": private})
	f := c.fetcher(t, nil)
	for secret, want := range map[string]string{
		"right": "", "foreign": "Unauthorized", "impostor": "TLS", "unknown": fetch.SecretInvalid, "": "Unauthorized",
	} {
		ref := v1alpha1.CueRef{Type: v1alpha1.CueRefGit, Ref: "git::ssh://git@" + address + r.dir + "//modules?ref=main"}
		if secret != "" {
			ref.PullSecretRef = &secret
		}
		fetched, err := f.Fetch(t.Context(), transformOf(c.Namespace, ref))
		if want != "" {
			wantReason(t, secret, err, want)
		} else if err != nil || loads(t, fetched) != "" {
			t.Errorf("%s: %v", secret, err)
		}
	}
}
