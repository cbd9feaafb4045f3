// Package credentials reads the credentials for modules from a cluster.
//
// [Read] is the entry point. Package modules/pullsecret makes credentials of the Secrets
// that it reads. Nothing of the process's own environment is used: neither the configuration
// of Docker nor netrc, an ssh agent or known_hosts.
package credentials

import (
	"context"
	"fmt"
	"net/http"

	"github.com/google/go-containerregistry/pkg/authn"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules/git"
	"github.com/pequod-io/pequod/modules/pullsecret"
)

// Client reads objects of a cluster. Its account may get Secrets and ServiceAccounts.
type Client interface {
	typedcorev1.SecretsGetter
	typedcorev1.ServiceAccountsGetter
}

// Credentials are those for one module. Modules must not share them, nor what was opened
// with them, across namespaces.
type Credentials struct {
	// Keychain is for registries. Without credentials, it is anonymous.
	Keychain authn.Keychain
	// Git is for the git server of the module. It is never nil.
	Git *git.Auth
	// Transport is for both. It trusts the authorities in the Secrets, or is nil.
	Transport http.RoundTripper
}

// Read reads the credentials for the module that ref refers to: the Secret pullSecretRef of
// the namespace and, for registries, the imagePullSecrets of a service account of the
// namespace, with less precedence. account is its name, or "" for none. No error has a value
// of a Secret.
func Read(ctx context.Context, c Client, namespace string, ref v1alpha1.CueRef, account string) (Credentials, error) {
	var secrets []*corev1.Secret
	if ref.PullSecretRef != nil {
		secret, err := c.Secrets(namespace).Get(ctx, *ref.PullSecretRef, metav1.GetOptions{})
		if err != nil {
			return Credentials{}, fmt.Errorf("pullSecretRef: secret %s/%s: %w", namespace, *ref.PullSecretRef, err)
		}
		secrets = append(secrets, secret)
	}
	made := Credentials{Git: &git.Auth{}}
	if ref.Type == v1alpha1.CueRefGit && len(secrets) > 0 {
		var err error
		if made.Git, err = pullsecret.Git(secrets[0]); err != nil {
			return Credentials{}, fmt.Errorf("pullSecretRef: %w", err)
		}
	}
	transport, err := pullsecret.Transport(secrets...)
	if err != nil {
		return Credentials{}, fmt.Errorf("pullSecretRef: %w", err)
	}
	made.Transport = transport
	if ref.Type == v1alpha1.CueRefGit {
		secrets = nil
	} else if account != "" {
		more, err := imagePullSecrets(ctx, c, namespace, account)
		if err != nil {
			return Credentials{}, err
		}
		secrets = append(secrets, more...)
	}
	made.Keychain, err = pullsecret.Keychain(secrets...)
	return made, err
}

// imagePullSecrets returns the Secrets that a service account has for images. Those that
// don't exist are left out, as the kubelet does.
func imagePullSecrets(ctx context.Context, c Client, namespace, name string) ([]*corev1.Secret, error) {
	account, err := c.ServiceAccounts(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("service account %s/%s: %w", namespace, name, err)
	}
	var secrets []*corev1.Secret
	for _, ref := range account.ImagePullSecrets {
		secret, err := c.Secrets(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("service account %s/%s: secret %s: %w", namespace, name, ref.Name, err)
		}
		secrets = append(secrets, secret)
	}
	return secrets, nil
}
