package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcoordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"
)

// lockInfo is the annotation of a Lease with its holder.
const lockInfo = "app.terraform.io/lock-info"

// backend stores the state as the backend kubernetes of OpenTofu does.
type backend struct {
	secrets  typedcorev1.SecretInterface
	leases   typedcoordinationv1.LeaseInterface
	name     string
	labels   map[string]string
	patience time.Duration
}

func connect(c *config) (*backend, error) {
	access, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBE_CONFIG_PATH"))
	if err != nil {
		return nil, err
	}
	core, err := typedcorev1.NewForConfig(access)
	if err != nil {
		return nil, err
	}
	coordination, err := typedcoordinationv1.NewForConfig(access)
	if err != nil {
		return nil, err
	}
	where := c.Terraform.Backend.Kubernetes
	return &backend{
		secrets: core.Secrets(where.Namespace), leases: coordination.Leases(where.Namespace), name: "tfstate-default-" + where.Suffix,
		labels: map[string]string{"tfstate": "true", "tfstateSecretSuffix": where.Suffix, "tfstateWorkspace": "default", "app.kubernetes.io/managed-by": "terraform"},
	}, nil
}

// initialize stores an empty state, unless there is one.
func (b *backend) initialize(ctx context.Context) error {
	if _, err := b.secrets.List(ctx, metav1.ListOptions{LabelSelector: "tfstate=true"}); err != nil {
		return err
	}
	s, err := b.read(ctx)
	if err != nil || s.Version > 0 {
		return err
	}
	return b.locked(ctx, "init", func() error { return b.write(ctx, s) })
}

func (b *backend) read(ctx context.Context) (*state, error) {
	s := &state{Outputs: map[string]output{}}
	secret, err := b.secrets.Get(ctx, b.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(secret.Data["tfstate"]))
	if err != nil {
		return nil, err
	}
	return s, json.NewDecoder(r).Decode(s)
}

func (b *backend) write(ctx context.Context, s *state) error {
	s.Version, s.Serial = 4, s.Serial+1
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if err := json.NewEncoder(w).Encode(s); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: b.name, Labels: b.labels}, Data: map[string][]byte{"tfstate": packed.Bytes()}}
	_, err := b.secrets.Create(ctx, secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = b.secrets.Update(ctx, secret, metav1.UpdateOptions{})
	}
	return err
}

// locked does something while the state is locked.
func (b *backend) locked(ctx context.Context, operation string, do func() error) error {
	for until := time.Now().Add(b.patience); ; time.Sleep(time.Second) {
		holder, err := b.lock(ctx, operation)
		if err != nil {
			return err
		}
		if holder == "" {
			break
		}
		if time.Now().After(until) {
			return &diagnostic{Severity: "error", Summary: "Error acquiring the state lock", Detail: holder}
		}
	}
	defer b.unlock()
	return do()
}

// lock locks the state, or returns who has locked it.
func (b *backend) lock(ctx context.Context, operation string) (holder string, err error) {
	host, err := os.Hostname()
	if err != nil {
		return "", err
	}
	info := fmt.Sprintf(`{"ID":"%d","Operation":%q,"Who":"root@%s","Created":%q}`, os.Getpid(), operation, host, time.Now().Format(time.RFC3339))
	id := fmt.Sprint(os.Getpid())
	lease, err := b.leases.Get(ctx, "lock-"+b.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "lock-" + b.name, Labels: b.labels, Annotations: map[string]string{lockInfo: info}}}
		lease.Spec.HolderIdentity = &id
		_, err = b.leases.Create(ctx, lease, metav1.CreateOptions{})
		return "", err
	case err != nil:
		return "", err
	case lease.Spec.HolderIdentity != nil:
		return lease.Annotations[lockInfo], nil
	}
	lease.Spec.HolderIdentity = &id
	if lease.Annotations == nil {
		lease.Annotations = map[string]string{}
	}
	lease.Annotations[lockInfo] = info
	_, err = b.leases.Update(ctx, lease, metav1.UpdateOptions{})
	return "", err
}

func (b *backend) unlock() {
	ctx := context.Background() // also after a signal
	lease, err := b.leases.Get(ctx, "lock-"+b.name, metav1.GetOptions{})
	if err == nil {
		lease.Spec.HolderIdentity = nil
		delete(lease.Annotations, lockInfo)
		_, err = b.leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}
