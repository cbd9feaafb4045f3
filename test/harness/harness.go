// Package harness gives a test a Kubernetes cluster: a real control plane
// from Go modules with a fake kubelet (see test/cluster/), which needs Go and
// nothing else. No container runs in it, so there are no logs, no exec, no DNS
// and no network between Pods; everything that the API server, the controllers
// and the scheduler do is real.
//
// Start is the entry point:
//
//	func TestSomething(t *testing.T) {
//		t.Parallel()
//		c := harness.Start(t)
//		c.Apply(t, manifests)
//		harness.Eventually(t, 10*time.Second, func(ctx context.Context) error { … })
//	}
//
// The tests of a package share one server, which the first Start starts and
// which ends with the process, and each has a namespace of its own. What a test
// makes outside its namespace must have a name of its own (Cluster.Unique) and
// be removed by the test. A test that kills or restarts the server takes its
// own by StartOwn. Package faults makes the way to the server unreliable.
//
// Pods are steered by annotations and by image tags, such as
// "testcluster.pequod.io/ready-after: 2s" and "app:missing";
// test/cluster/README.md lists them.
package harness

import (
	"context"
	"os"
	"sync"
	"testing"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/server"
)

// Cluster is a control plane as one test sees it.
type Cluster struct {
	// Config is the administrator's, without client-side throttling. It is the
	// test's own to copy and change.
	Config *rest.Config
	// Kubeconfig is the path of a file with the same access.
	Kubeconfig string
	// Namespace is the test's own; it is removed when the test ends.
	Namespace string

	Client  kubernetes.Interface
	Dynamic dynamic.Interface

	server *server.Server
	mapper *restmapper.DeferredDiscoveryRESTMapper
	suffix string
}

// shared is the server of this package's tests. Nothing stops it: it sees the
// end of the process, in whichever way that ends.
var shared = sync.OnceValues(func() (*server.Server, error) {
	return server.Start(context.Background(), server.Options{Log: os.Stderr})
})

// Start returns the cluster that the tests of this process share, with a
// namespace that is this test's. The first call starts it, which takes some
// seconds, and minutes if the control plane was never compiled on this machine.
func Start(t testing.TB) *Cluster {
	t.Helper()
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return attach(t, s)
}

// StartOwn returns a cluster that no other test sees, and whose state outlives
// Stop and Kill until the test ends.
func StartOwn(t testing.TB) *Cluster {
	t.Helper()
	s, err := server.Start(t.Context(), server.Options{DataDir: t.TempDir(), Log: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Logf("test cluster: stopping: %v", err)
		}
	})
	return attach(t, s)
}

// Stop lets the API server and everything behind it end cleanly. Only a
// cluster from StartOwn may be stopped.
func (c *Cluster) Stop(t testing.TB) {
	t.Helper()
	if err := c.server.Stop(); err != nil {
		t.Fatal(err)
	}
}

// Kill ends the API server and everything behind it as a crash would. Only a
// cluster from StartOwn may be killed.
func (c *Cluster) Kill(t testing.TB) {
	t.Helper()
	if err := c.server.Kill(); err != nil {
		t.Fatal(err)
	}
}

// Restart starts a cluster that was stopped or killed again, with all that it
// held, at the same address: clients made before go on working.
func (c *Cluster) Restart(t testing.TB) {
	t.Helper()
	if err := c.server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Proxy returns a fault proxy in front of the API server, of which nothing
// goes wrong yet.
func (c *Cluster) Proxy(t testing.TB, seed uint64) *faults.Proxy {
	t.Helper()
	p, err := faults.Start(c.Config, seed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Logf("fault proxy: closing: %v", err)
		}
	})
	return p
}

// attach makes the clients and the namespace of one test.
func attach(t testing.TB, s *server.Server) *Cluster {
	t.Helper()
	select {
	case <-s.Done():
		t.Fatalf("the test cluster has ended; its log was %s", s.Log())
	default:
	}
	c := &Cluster{Kubeconfig: s.Kubeconfig(), server: s, suffix: suffix()}
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	config.UserAgent = "harness"
	config.WarningHandler = rest.NoWarnings{}
	if err := c.connect(config); err != nil {
		t.Fatal(err)
	}
	c.Namespace = c.Unique(nameOf(t))
	c.makeNamespace(t)
	return c
}

func (c *Cluster) connect(config *rest.Config) error {
	c.Config = config
	// One transport for all three, so that a test opens one connection.
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	if c.Client, err = kubernetes.NewForConfigAndClient(config, client); err != nil {
		return err
	}
	if c.Dynamic, err = dynamic.NewForConfigAndClient(config, client); err != nil {
		return err
	}
	discover, err := discovery.NewDiscoveryClientForConfigAndClient(config, client)
	if err != nil {
		return err
	}
	c.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discover))
	return nil
}
