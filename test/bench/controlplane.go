package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/pequod-io/pequod/test/server"
)

// The namespace and the service account of the applier, as config.Applier names
// them.
const (
	system  = "pequod-system"
	account = "pequod-applier"
)

// controlPlane is a running control plane that something is measured on.
type controlPlane struct {
	server *server.Server
	// config and client have the access of the administrator.
	config     *rest.Config
	client     kubernetes.Interface
	namespaces int // created so far, for unique names
	// applierConfig is the access of pequod-applier's service account. It is nil
	// until install has run.
	applierConfig *rest.Config
}

// restartControlPlane replaces the control plane by a new one, on which nothing
// has happened yet. An empty one makes rounds comparable: etcd and the caches of
// the API server grow with every object that has ever existed. The first call
// compiles it if necessary, and reports the progress of that on stderr.
func (m *measurement) restartControlPlane(ctx context.Context) error {
	if err := m.stopControlPlane(); err != nil {
		return err
	}
	s, err := server.Start(ctx, server.Options{Log: os.Stderr})
	if err != nil {
		return err
	}
	m.controlPlane = &controlPlane{server: s}
	if m.config, err = clientcmd.BuildConfigFromFlags("", s.Kubeconfig()); err != nil {
		return err
	}
	m.config.QPS = -1 // no client-side rate limit
	m.client, err = kubernetes.NewForConfig(m.config)
	return err
}

// stopControlPlane stops the control plane, if one runs, and deletes its state.
// Calling it again does nothing.
func (m *measurement) stopControlPlane() error {
	c := m.controlPlane
	if c == nil {
		return nil
	}
	m.controlPlane = nil
	return c.server.Stop()
}

// install prepares a new control plane for the applier: it installs the applier,
// lets it watch every kind, as the overlay single-tenant does, and sets
// applierConfig to the access of the applier's service account.
func (m *measurement) install(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, m.scratchFile("pequod"), "install", "--kubeconfig", m.server.Kubeconfig())
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	// The label aggregates these rules into the applier's own ClusterRole.
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "bench-watch", Labels: map[string]string{"pequod.io/aggregate-to-applier": "true"}},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}}},
	}
	_, err := m.client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	m.applierConfig, err = server.ServiceAccount(ctx, m.config, system, account)
	return err
}

// serverCPU returns the CPU time of the control plane so far.
func (c *controlPlane) serverCPU() time.Duration { return processCPU(c.server.Pid()) }

// waitUntilCalm waits until the control plane uses less than 15 % of a core for a
// second. It still works for a while on what a run before has created, and that
// work would be charged to the next run.
func (c *controlPlane) waitUntilCalm(ctx context.Context) error {
	for last := c.serverCPU(); ; {
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
		now := c.serverCPU()
		if now-last < 150*time.Millisecond {
			return nil
		}
		last = now
	}
}

// createNamespace creates a namespace and waits until Pods can be created in it:
// they need the default service account, which a controller creates. The prefix
// makes the name readable; "floor" gives "floor-7".
func (c *controlPlane) createNamespace(ctx context.Context, prefix string) (string, error) {
	c.namespaces++
	name := fmt.Sprintf("%s-%d", prefix, c.namespaces)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := c.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return "", err
	}
	return name, poll(ctx, func() (bool, error) {
		_, err := c.client.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, nil
	})
}

// createTenant creates a namespace with the service account that its graphs are
// executed as. The account may do anything in the namespace: the benchmark
// measures no denied requests.
func (c *controlPlane) createTenant(ctx context.Context, prefix string) (string, error) {
	namespace, err := c.createNamespace(ctx, prefix)
	if err != nil {
		return "", err
	}
	meta := metav1.ObjectMeta{Name: "pequod"}
	if _, err := c.client.CoreV1().ServiceAccounts(namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		return "", err
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: meta.Name, Namespace: namespace}},
	}
	_, err = c.client.RbacV1().RoleBindings(namespace).Create(ctx, binding, metav1.CreateOptions{})
	return namespace, err
}

// deleteAll deletes the objects of a kind in a namespace. Of ResourceGraphs, it leaves the
// objects: no applier runs when the floor has created them.
func (c *controlPlane) deleteAll(ctx context.Context, k kind, namespace string) error {
	return c.client.CoreV1().RESTClient().Delete().
		AbsPath("/apis", k.apiVersion, "namespaces", namespace, k.resource).Do(ctx).Error()
}
