package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	appliermetrics "github.com/pequod-io/pequod/applier/metrics"
	"github.com/pequod-io/pequod/operator/artifact"
	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/instance"
	"github.com/pequod-io/pequod/operator/source"
)

// artifacts has the flags about InstanceSources.
type artifacts struct {
	// address is that of the server of artifacts; "0" disables InstanceSources.
	address string
	// url is the address at which Flux reaches the server.
	url              string
	noCrossNamespace bool
	// namespaceQuota and totalQuota limit the archives in etcd, in MiB; 0 means no limit.
	namespaceQuota, totalQuota int
}

func (a *artifacts) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&a.address, "artifact-bind-address", "0",
		"address of the HTTP server that hands the artifacts of InstanceSources to Flux; 0 disables InstanceSources")
	fs.StringVar(&a.url, "artifact-url", "",
		"address at which Flux reaches the server of artifacts; default: http://pequod-artifacts.NAMESPACE.svc.cluster.local. with the namespace of the manager")
	fs.BoolVar(&a.noCrossNamespace, "no-cross-namespace-refs", false, "reject InstanceSources whose source is in another namespace")
	fs.IntVar(&a.namespaceQuota, "artifact-namespace-quota", 128,
		"limit of the archives that the InstanceSources of a namespace store in etcd, in MiB; 0 means no limit")
	fs.IntVar(&a.totalQuota, "artifact-total-quota", 512,
		"limit of the archives that all InstanceSources store in etcd, in MiB; an archive of several counts once; 0 means no limit")
}

// enabled reports whether InstanceSources are reconciled.
func (a *artifacts) enabled() bool { return a.address != "0" }

// check reports flags with wrong values, and sets the default of --artifact-url.
func (a *artifacts) check(namespace string) error {
	switch {
	case !a.enabled() && a.url != "":
		return errors.New("--artifact-url goes with --artifact-bind-address")
	case !a.enabled() && a.noCrossNamespace:
		return errors.New("--no-cross-namespace-refs goes with --artifact-bind-address")
	case a.namespaceQuota < 0 || a.totalQuota < 0:
		return errors.New("--artifact-namespace-quota and --artifact-total-quota must be at least 0")
	case !a.enabled():
		return nil
	}
	if _, err := net.ResolveTCPAddr("tcp", a.address); err != nil {
		return fmt.Errorf("--artifact-bind-address: %w", err)
	}
	if a.url == "" {
		a.url = "http://pequod-artifacts." + namespace + ".svc.cluster.local."
	}
	u, err := url.Parse(a.url)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("--artifact-url: %q is not an address such as https://artifacts.example.com", a.url)
	}
	return nil
}

// setupArtifacts adds the controller of InstanceSources, which only the leader runs, and the server
// of artifacts, which every replica runs.
func (o *options) setupArtifacts(m manager.Manager, counters *appliermetrics.Metrics, platforms *catalog.Catalog, evaluator *instance.Evaluator) error {
	if !o.artifacts.enabled() {
		return nil
	}
	store := &artifact.Store{
		Client: m.GetClient(), API: m.GetAPIReader(), Namespace: o.namespace, Now: time.Now,
		NamespaceQuota: int64(o.artifacts.namespaceQuota) << 20, TotalQuota: int64(o.artifacts.totalQuota) << 20,
	}
	err := source.Setup(m, source.Options{
		Catalog: platforms, Evaluator: evaluator, Store: store, URL: o.artifacts.url, Transforms: o.allows,
		NoCrossNamespace: o.artifacts.noCrossNamespace, Metrics: counters.Controller("instancesource"),
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.artifacts.address)
	if err != nil {
		return fmt.Errorf("--artifact-bind-address: %w", err)
	}
	return m.Add(&manager.Server{
		Name: "artifacts", Server: artifact.Server(store, m.GetLogger().WithName("artifacts")), Listener: listener,
	})
}
