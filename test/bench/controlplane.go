package main

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/pequod-io/pequod/test/server"
)

// controlPlane is a running control plane that something is measured on. Its
// clients have the access of the administrator.
type controlPlane struct {
	server     *server.Server
	kubeconfig string       // of the administrator
	config     *rest.Config // the same
	client     kubernetes.Interface
	namespaces int // created so far, for unique names
	// applierConfig is the access of pequod-applier's service account. It is nil
	// until install has run.
	applierConfig *rest.Config
}

// startControlPlane starts an empty control plane with the access of the
// administrator. It compiles the control plane first if necessary, and reports
// the progress of that on stderr.
func startControlPlane(ctx context.Context) (*controlPlane, error) {
	s, err := server.Start(ctx, server.Options{Log: os.Stderr})
	if err != nil {
		return nil, err
	}
	c := &controlPlane{server: s, kubeconfig: s.Kubeconfig()}
	if c.config, err = clientcmd.BuildConfigFromFlags("", c.kubeconfig); err != nil {
		return nil, err
	}
	c.config.QPS = -1 // no client-side rate limit
	c.client, err = kubernetes.NewForConfig(c.config)
	return c, err
}

// stop ends the control plane and deletes its state.
func (c *controlPlane) stop() error { return c.server.Stop() }

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
	return namespace, c.apply(ctx, fmt.Appendf(nil, `
{apiVersion: v1, kind: ServiceAccount, metadata: {name: pequod, namespace: %[1]s}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: pequod, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: pequod, namespace: %[1]s}]
`, namespace))
}

// deleteGraphs deletes the ResourceGraphs of a namespace and leaves their
// objects. No applier runs when the floor has created them.
func (c *controlPlane) deleteGraphs(ctx context.Context, namespace string) error {
	return c.client.CoreV1().RESTClient().Delete().
		AbsPath("/apis", resourceGraphs.apiVersion, "namespaces", namespace, resourceGraphs.resource).Do(ctx).Error()
}

// writeKubeconfig writes a kubeconfig with the access of config, which must use a
// bearer token. A proxy would not pass a client certificate on.
func writeKubeconfig(path string, config *rest.Config) error {
	file := clientcmdapi.NewConfig()
	file.Clusters["bench"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos["bench"] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	file.Contexts["bench"] = &clientcmdapi.Context{Cluster: "bench", AuthInfo: "bench"}
	file.CurrentContext = "bench"
	return clientcmd.WriteToFile(*file, path)
}
