package program

import (
	"cmp"
	"context"
	"crypto/tls"
	stdlog "log"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/pequod-io/pequod/applier/shards"
)

// shutdown is the default of Options.Shutdown. It is shorter than the 30 seconds
// that Kubernetes gives a Pod to terminate.
const shutdown = 20 * time.Second

// Run runs the program until ctx is done. It then waits until the controllers
// have ended, and releases the lease. An error means that the program can't
// continue, for example because it lost the lease.
//
// The process must exit when Run returns, because another replica may be the
// leader already. Run also sets the loggers of the process.
func Run(ctx context.Context, config *rest.Config, o Options) error {
	setLog(o.Log)
	config = rest.CopyConfig(config)
	config.UserAgent = o.Name + "/" + o.Version
	config.QPS = -1 // the API server limits requests itself
	limitAnswers(config, answerTimeout, stallTimeout)
	m, err := manager.New(config, o.manager())
	if err != nil {
		return err
	}
	if err := addProbes(m, config, o.Namespace, o.Needs); err != nil {
		return err
	}
	if err := o.Setup(m); err != nil {
		return err
	}
	values := []any{"program", o.Name, "version", o.Version, "server", config.Host}
	if o.Election.Enabled {
		values = append(values, "lease", o.lease())
	}
	if o.Election.Shards > 1 {
		values = append(values, "shards", o.Election.Shards)
	}
	o.Log.Info("starting", values...)
	if err := Start(ctx, m); err != nil {
		return err
	}
	o.Log.Info("ended")
	return nil
}

// Start starts a manager, and waits until ctx is done and the manager has ended.
//
// If ctx is done before the caches are filled, for example because the API server is away,
// Start doesn't wait for the manager: it would not end before they are filled
// (kubernetes-sigs/controller-runtime#3440). No controller runs then, and no lease is held.
func Start(ctx context.Context, m manager.Manager) error {
	filled := make(chan struct{})
	if err := m.Add(begun(filled)); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case <-filled:
		return <-ended
	default:
		return nil
	}
}

// begun is a runnable that a manager starts when its caches are filled, also in a replica that
// is not the leader. It closes the channel.
type begun chan struct{}

func (b begun) Start(context.Context) error {
	close(b)
	return nil
}

func (begun) NeedLeaderElection() bool { return false }

// lease returns the name of the lease.
func (o Options) lease() string { return cmp.Or(o.Election.Lease, o.Name) }

// leaseLabels returns the labels of all leases. pequod uninstall finds the appliers of a cluster by
// them.
func (o Options) leaseLabels() map[string]string {
	return map[string]string{"app.kubernetes.io/name": o.Name}
}

// Replica returns the replica of a program with several shards, in a namespace. It takes the
// place of the manager's leader election.
func (o Options) Replica(m manager.Manager, namespace string) (*shards.Replica, error) {
	return shards.New(m.GetConfig(), shards.Options{
		Count: o.Election.Shards, Lease: o.lease(), Namespace: namespace, Labels: o.leaseLabels(),
		Log: m.GetLogger().WithName("shards"),
	})
}

// setLog redirects the logs of libraries, which have a global logger each.
func setLog(to logr.Logger) {
	log.SetLogger(to)
	klog.SetLoggerWithOptions(to, klog.ContextualLogger(true))
	stdlog.SetFlags(0)
	q := &quiet{now: time.Now, texts: map[string]*repeated{}}
	stdlog.SetOutput(lines{to, q})
	handleErrors(q)
}

// manager returns the options of the manager.
func (o Options) manager() manager.Options {
	metrics := metricsserver.Options{
		BindAddress: o.Metrics.Address, SecureServing: o.Metrics.Secure,
		CertDir: o.Metrics.CertDir, CertName: o.Metrics.CertName, KeyName: o.Metrics.KeyName,
		// HTTP/2 allows clients to overload a server by resetting streams
		// (CVE-2023-44487), and has no advantage for scraping metrics.
		TLSOpts: []func(*tls.Config){func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }},
	}
	if o.Metrics.Secure {
		metrics.FilterProvider = reviewFilter
	}
	return manager.Options{
		Scheme: o.Scheme, Cache: o.Cache, MapperProvider: mapper(o.Scopes), Logger: o.Log,
		Metrics:                       metrics,
		HealthProbeBindAddress:        o.Probes,
		LeaderElection:                o.Election.Enabled && o.Election.Shards <= 1,
		LeaderElectionID:              o.lease(),
		LeaderElectionLabels:          o.leaseLabels(),
		LeaderElectionNamespace:       o.Election.Namespace,
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       new(cmp.Or(o.Shutdown, shutdown)),
	}
}
