// Package identity acts as the service account of an Action or a Monitor, in its namespace. It
// reads and writes Secrets for Actions. pequod-actions itself has no right to any Secret.
//
// [New], [Accounts.Secret] and [Accounts.As] are the entry points.
package identity

import (
	"context"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// fieldManager owns the keys of Secrets that are written.
const fieldManager = "pequod-actions"

// Accounts acts as service accounts. It is safe for concurrent use.
type Accounts struct {
	config *rest.Config
	http   *http.Client
}

// New returns the accounts of a cluster. The client's identity needs the right to impersonate
// them.
func New(config *rest.Config, client *http.Client) *Accounts { return &Accounts{config, client} }

// As returns what clients that act as a service account are made of. The clients of all accounts
// share their connections.
func (a *Accounts) As(namespace, account string) (*rest.Config, *http.Client) {
	as := *a.http
	user := "system:serviceaccount:" + namespace + ":" + account
	as.Transport = transport.NewImpersonatingRoundTripper(transport.ImpersonationConfig{UserName: user}, a.http.Transport)
	return a.config, &as
}

// secrets returns a client that acts as a service account, in its namespace.
func (a *Accounts) secrets(namespace, account string) (typedcorev1.SecretInterface, error) {
	client, err := typedcorev1.NewForConfigAndClient(a.As(namespace, account))
	if err != nil {
		return nil, err
	}
	return client.Secrets(namespace), nil
}

// Secret returns the data of a Secret.
func (a *Accounts) Secret(ctx context.Context, namespace, account, name string) (map[string][]byte, error) {
	client, err := a.secrets(namespace, account)
	if err != nil {
		return nil, err
	}
	secret, err := client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return secret.Data, nil
}

// Apply writes the data of a Secret that belongs to an owner.
func (a *Accounts) Apply(ctx context.Context, account string, secret *corev1.Secret) error {
	client, err := a.secrets(secret.Namespace, account)
	if err != nil {
		return err
	}
	apply := applycorev1.Secret(secret.Name, secret.Namespace).WithLabels(secret.Labels).WithData(secret.Data)
	for _, o := range secret.OwnerReferences {
		apply.WithOwnerReferences(applyOwner(o))
	}
	_, err = client.Apply(ctx, apply, metav1.ApplyOptions{FieldManager: fieldManager})
	return err
}
