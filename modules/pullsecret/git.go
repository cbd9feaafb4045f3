package pullsecret

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"

	"github.com/pequod-io/pequod/modules/git"
	"github.com/pequod-io/pequod/modules/oci"
)

// The keys of Secrets that have no constants in Kubernetes. They are those of Flux.
const (
	bearerTokenKey = "bearerToken"
	identityKey    = "identity" // a private key, as in Secrets of type Opaque
	knownHostsKey  = "known_hosts"
	caKey          = "ca.crt"
)

// Git returns the credentials for a git server in a Secret of type
// kubernetes.io/basic-auth, kubernetes.io/ssh-auth or Opaque: username and password, or
// bearerToken, for HTTP; ssh-privatekey (or identity) and known_hosts for ssh, where
// password decrypts the key. A Secret with ca.crt may have no others. No error has a value
// of the Secret.
func Git(s *corev1.Secret) (*git.Auth, error) {
	auth, err := gitAuth(s)
	if err != nil {
		return nil, fmt.Errorf("secret %s/%s: %w", s.Namespace, s.Name, err)
	}
	return auth, nil
}

func gitAuth(s *corev1.Secret) (*git.Auth, error) {
	switch s.Type {
	case corev1.SecretTypeBasicAuth, corev1.SecretTypeSSHAuth, corev1.SecretTypeOpaque:
	default:
		return nil, fmt.Errorf("has the type %q; want %s, %s or %s", s.Type, corev1.SecretTypeBasicAuth, corev1.SecretTypeSSHAuth, corev1.SecretTypeOpaque)
	}
	text := func(key string) string { return string(s.Data[key]) }
	password := text(corev1.BasicAuthPasswordKey)
	auth := &git.Auth{
		Key:        []byte(cmp.Or(text(corev1.SSHAuthPrivateKey), text(identityKey))),
		KnownHosts: s.Data[knownHostsKey],
	}
	switch {
	case len(auth.Key) > 0 && len(auth.KnownHosts) == 0:
		return nil, fmt.Errorf("has a private key, but no key %s with the public keys of servers", knownHostsKey)
	case len(auth.Key) > 0:
		auth.Passphrase = password
		return auth, auth.Check()
	}
	auth.KnownHosts = nil
	auth.Username, auth.Password, auth.BearerToken = text(corev1.BasicAuthUsernameKey), password, text(bearerTokenKey)
	switch {
	case auth.BearerToken != "" && auth.Username+auth.Password != "":
		return nil, fmt.Errorf("has both %s and %s or %s", bearerTokenKey, corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey)
	case auth.BearerToken == "" && (auth.Username == "" || auth.Password == "") && (auth.Username+auth.Password != "" || text(caKey) == ""):
		return nil, fmt.Errorf("has no credentials for git; want %s and %s, %s, or %s and %s", corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey,
			bearerTokenKey, corev1.SSHAuthPrivateKey, knownHostsKey)
	}
	return auth, nil
}

// Transport returns a transport that trusts the authorities in ca.crt of Secrets in addition
// to those of the system. It is nil if no Secret has that key. It is for
// [git.Options] and [oci.Options].
func Transport(secrets ...*corev1.Secret) (http.RoundTripper, error) {
	var all []byte
	for _, s := range secrets {
		data, ok := s.Data[caKey]
		if !ok {
			continue
		}
		if !x509.NewCertPool().AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("secret %s/%s: %w", s.Namespace, s.Name, errCA)
		}
		all = append(append(all, data...), '\n')
	}
	if all == nil {
		return nil, nil
	}
	return oci.Trusting(all)
}

var errCA = errors.New(caKey + " has no certificate in PEM format")
