// Package identity acts as the service account of an Action, a Monitor or a Receiver, in its
// namespace. It reads and writes Secrets, and executes Jobs, for Actions. pequod-actions itself has
// no right to any of them.
//
// [New], [Accounts.Secret], [Accounts.Client], [Accounts.Dynamic], [Accounts.Own] and [Accounts.As] are the entry
// points.
package identity

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/dynamic"
	typedbatchv1 "k8s.io/client-go/kubernetes/typed/batch/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/internal/bodylimit"
	"github.com/pequod-io/pequod/internal/lazyregexp"
)

// maxAnswer is the size of the largest answer that is read as a service account, in bytes. Whoever may
// create Pods decides how large a list of them is.
const maxAnswer = 16 << 20

// Accounts acts as service accounts. It is safe for concurrent use.
type Accounts struct {
	config *rest.Config
	http   *http.Client
}

// New returns the accounts of a cluster. The client's identity needs the right to impersonate
// them.
func New(config *rest.Config, client *http.Client) *Accounts {
	limited := *client
	limited.Transport = bounded{client.Transport}
	return &Accounts{config, &limited}
}

// bounded is a transport whose answers are limited to [maxAnswer]. Those to watches never end.
type bounded struct{ http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err == nil && r.URL.Query().Get("watch") == "" {
		answer.Body = bodylimit.New(answer.Body, maxAnswer)
	}
	return answer, err
}

// As returns what clients that act as a service account are made of. The clients of all accounts
// share their connections.
func (a *Accounts) As(namespace, account string) (*rest.Config, *http.Client) {
	as := *a.http
	user := "system:serviceaccount:" + namespace + ":" + account
	as.Transport = transport.NewImpersonatingRoundTripper(transport.ImpersonationConfig{UserName: user}, a.http.Transport)
	return a.config, &as
}

// Own returns a client that acts as the program. Those of accounts are made of it by [cluster.Client.As].
func (a *Accounts) Own() (*cluster.Client, error) {
	return cluster.NewForConfigAndClient(a.config, a.http)
}

// Dynamic returns a client for all kinds that acts as a service account.
func (a *Accounts) Dynamic(namespace, account string) (dynamic.Interface, error) {
	return dynamic.NewForConfigAndClient(a.As(namespace, account))
}

// Client acts as a service account in its namespace.
type Client struct {
	Secrets    typedcorev1.SecretInterface
	ConfigMaps typedcorev1.ConfigMapInterface
	Pods       typedcorev1.PodInterface
	Jobs       typedbatchv1.JobInterface
}

// Client returns a client that acts as a service account, in its namespace.
func (a *Accounts) Client(namespace, account string) (*Client, error) {
	config, as := a.As(namespace, account)
	core, err := typedcorev1.NewForConfigAndClient(config, as)
	if err != nil {
		return nil, err
	}
	batch, err := typedbatchv1.NewForConfigAndClient(config, as)
	if err != nil {
		return nil, err
	}
	return &Client{
		Secrets: core.Secrets(namespace), ConfigMaps: core.ConfigMaps(namespace), Pods: core.Pods(namespace), Jobs: batch.Jobs(namespace),
	}, nil
}

// reads are the Secrets that were read in a context of [Once], by namespace, account and name.
type reads struct {
	mu sync.Mutex
	of map[[3]string]map[string][]byte
}

// readsKey is the key of the reads of a context.
type readsKey struct{}

// Once returns a context in which [Accounts.Secret] reads each Secret once. It is for one reconciliation.
func Once(ctx context.Context) context.Context {
	return context.WithValue(ctx, readsKey{}, &reads{of: map[[3]string]map[string][]byte{}})
}

// Secret returns the data of a Secret, which the caller doesn't change.
func (a *Accounts) Secret(ctx context.Context, namespace, account, name string) (map[string][]byte, error) {
	r, ok := ctx.Value(readsKey{}).(*reads)
	if !ok {
		return a.read(ctx, namespace, account, name)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := [3]string{namespace, account, name}
	if data, ok := r.of[key]; ok {
		return data, nil
	}
	data, err := a.read(ctx, namespace, account, name)
	if err == nil {
		r.of[key] = data
	}
	return data, err
}

// read reads the data of a Secret.
func (a *Accounts) read(ctx context.Context, namespace, account, name string) (map[string][]byte, error) {
	client, err := a.Client(namespace, account)
	if err != nil {
		return nil, err
	}
	secret, err := client.Secrets.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return secret.Data, nil
}

// Apply writes the data of a Secret that belongs to an owner.
func (a *Accounts) Apply(ctx context.Context, account string, secret *corev1.Secret) error {
	client, err := a.Client(secret.Namespace, account)
	if err != nil {
		return err
	}
	apply := applycorev1.Secret(secret.Name, secret.Namespace).WithLabels(secret.Labels).WithData(secret.Data)
	for _, o := range secret.OwnerReferences {
		apply.WithOwnerReferences(applyOwner(o))
	}
	_, err = client.Secrets.Apply(ctx, apply, metav1.ApplyOptions{FieldManager: v1alpha1.ActionsProgram})
	return err
}

// denied matches what the API server says about a service account without a right.
var denied = lazyregexp.New(`User "system:serviceaccount:[^:"]+:([^"]+)" (cannot .+)$`)

// Reason returns the reason of an error of the API server for people. A missing right is reported with
// the account, in the words of the API server.
func Reason(err error) string {
	switch {
	case apierrors.IsNotFound(err):
		return "not found"
	case apierrors.IsForbidden(err):
		if m := denied().FindStringSubmatch(err.Error()); m != nil {
			return fmt.Sprintf("service account %s %s; add this right to a Role of the account", m[1], m[2])
		}
	}
	return err.Error()
}
