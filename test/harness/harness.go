// Package harness gives a test a Kubernetes cluster: a real control plane from Go
// modules with a fake kubelet (see test/cluster/). It needs Go and nothing else.
// No container runs in it, except those of Pods that ask for local processes, so there
// are no logs, no DNS and no network between Pods, and commands are only executed in Pods
// that ask for it. The API server, the controllers and the scheduler are the real ones.
//
// [Start] is the entry point:
//
//	func TestSomething(t *testing.T) {
//		t.Parallel()
//		c := harness.Start(t)
//		c.Apply(t, manifests)
//		harness.Eventually(t, 10*time.Second, func(ctx context.Context) error { … })
//	}
//
// The tests of a package share one server. The first call of Start starts it, and
// it ends with the process. Every test has a namespace of its own. Objects
// outside that namespace need unique names ([Cluster.Unique]), and the test must
// delete them. A test of a program that watches the whole cluster uses [Borrow], and
// one that kills or restarts the server [StartOwn]. Package
// faults makes the connection to the server unreliable.
//
// Annotations and image tags control what the fake kubelet does with a Pod, such
// as "testcluster.pequod.io/ready-after: 2s" and "app:missing".
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

// Cluster is the view that one test has of a control plane.
type Cluster struct {
	// Config has the access of the administrator, without client-side throttling.
	// The test may copy and change it.
	Config *rest.Config
	// Kubeconfig is the path of a file with the same access.
	Kubeconfig string
	// Namespace belongs to the test. It stays until the server ends.
	Namespace string

	// Client and Dynamic use Config. They share one transport.
	Client  kubernetes.Interface
	Dynamic dynamic.Interface

	// server may be shared with other tests; only Stop, Kill and Restart change
	// it.
	server *server.Server
	// mapper finds the resource of a kind. It caches discovery; Apply resets it
	// after a CRD.
	mapper *restmapper.DeferredDiscoveryRESTMapper
	// suffix makes the names of this test unique.
	suffix string
}

// shared is the server of all tests in this process. Nothing stops it explicitly:
// it ends when the process does, in whichever way.
var shared = sync.OnceValues(func() (*server.Server, error) {
	return server.Start(context.Background(), server.Options{Log: os.Stderr})
})

// Start returns the cluster that the tests of this process share, with a new
// namespace for this test. The first call takes some seconds, or minutes if the
// control plane has never been compiled on this machine.
func Start(t testing.TB) *Cluster {
	t.Helper()
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return attach(t, s)
}

// StartOwn returns a cluster that no other test uses. Its state survives Stop and
// Kill until the test ends.
func StartOwn(t testing.TB) *Cluster {
	t.Helper()
	return StartGated(t, "")
}

// StartGated is [StartOwn] with feature gates of the API server, such as NAME=true.
func StartGated(t testing.TB, gates string) *Cluster {
	t.Helper()
	s, err := server.Start(t.Context(), server.Options{DataDir: t.TempDir(), Log: os.Stderr, FeatureGates: gates})
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

// lent are the servers that [Borrow] may lend again.
var lent struct {
	sync.Mutex
	idle []*server.Server
}

// Borrow returns a cluster that no other test uses before this one ends. Then tidy removes
// what must not meet the next test that borrows the cluster; if it fails, the cluster is
// not lent again. Borrowing takes a fraction of the time of [StartOwn]. The test must not
// stop the server.
func Borrow(t testing.TB, tidy func(context.Context, *Cluster) error) *Cluster {
	t.Helper()
	lent.Lock()
	var s *server.Server
	if last := len(lent.idle) - 1; last >= 0 {
		s, lent.idle = lent.idle[last], lent.idle[:last]
	}
	lent.Unlock()
	if s == nil {
		var err error
		// Like the shared one, it ends when the process does.
		if s, err = server.Start(context.Background(), server.Options{Log: os.Stderr}); err != nil {
			t.Fatal(err)
		}
	}
	var c *Cluster
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if c == nil || tidy(ctx, c) != nil {
			_ = s.Stop() // it may have ended
			return
		}
		lent.Lock()
		defer lent.Unlock()
		lent.idle = append(lent.idle, s)
	})
	c = attach(t, s)
	return c
}

// Stop shuts the API server and all other components down cleanly. Only a cluster
// from StartOwn may be stopped: other tests use the shared one.
func (c *Cluster) Stop(t testing.TB) {
	t.Helper()
	if err := c.server.Stop(); err != nil {
		t.Fatal(err)
	}
}

// Kill ends the API server and all other components like a crash. Only a cluster
// from StartOwn may be killed.
func (c *Cluster) Kill(t testing.TB) {
	t.Helper()
	if err := c.server.Kill(); err != nil {
		t.Fatal(err)
	}
}

// Restart starts a stopped or killed cluster again, with the same data and at the
// same address, so that existing clients continue to work.
func (c *Cluster) Restart(t testing.TB) {
	t.Helper()
	if err := c.server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Backup stops a cluster from StartOwn, copies its data directory, and starts it
// again. The copy is deleted when the test ends.
func (c *Cluster) Backup(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	c.Stop(t)
	if err := os.CopyFS(dir, os.DirFS(c.server.DataDir())); err != nil {
		t.Fatal(err)
	}
	c.Restart(t)
	return dir
}

// Restore replaces the data of a cluster from StartOwn by a copy that Backup made, as
// when etcd is restored. The address and the certificates stay the same. While the
// cluster is stopped, Restore calls meanwhile, which may be nil.
func (c *Cluster) Restore(t testing.TB, dir string, meanwhile func()) {
	t.Helper()
	c.Stop(t)
	if err := os.RemoveAll(c.server.DataDir()); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(c.server.DataDir(), os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if meanwhile != nil {
		meanwhile()
	}
	c.Restart(t)
}

// Proxy returns a fault proxy in front of the API server. It injects no faults
// until the test adds rules.
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

// attach creates the clients and the namespace of one test. It fails the test if
// the server has ended, with the path of its log.
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
	// No client-side rate limit: tests are fast, and one of them must not wait
	// for another.
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

// connect sets the configuration and creates the clients.
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
