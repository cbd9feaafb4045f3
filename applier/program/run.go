package program

import (
	"cmp"
	"context"
	"crypto/tls"
	stdlog "log"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// shutdown is shorter than the 30 seconds that Kubernetes gives a Pod to end.
const shutdown = 20 * time.Second

// Run runs the program until ctx is done, and then until everything has come to
// its end and the lease is released. An error says that it couldn't go on;
// the process is to end after either, because others may be leader by then.
func Run(ctx context.Context, config *rest.Config, o Options) error {
	setLog(o.Log)
	config = rest.CopyConfig(config)
	config.UserAgent = o.Name + "/" + o.Version
	config.QPS = -1 // the API server says itself when it has too much to do
	m, err := manager.New(config, o.manager())
	if err != nil {
		return err
	}
	if err := addProbes(m, config, o.Needs); err != nil {
		return err
	}
	if err := o.Setup(m); err != nil {
		return err
	}
	o.Log.Info("starting", "program", o.Name, "version", o.Version, "server", config.Host)
	if err := m.Start(ctx); err != nil {
		return err
	}
	o.Log.Info("ended")
	return nil
}

// setLog sends what libraries log to one log. Each has one for the process.
func setLog(to logr.Logger) {
	log.SetLogger(to)
	klog.SetLoggerWithOptions(to, klog.ContextualLogger(true))
	stdlog.SetFlags(0)
	stdlog.SetOutput(lines{to})
}

// lines makes an entry of every line; net/http writes no others.
type lines struct{ log logr.Logger }

func (l lines) Write(p []byte) (int, error) {
	l.log.Info(strings.TrimSpace(string(p)))
	return len(p), nil
}

func (o Options) manager() manager.Options {
	metrics := metricsserver.Options{
		BindAddress: o.Metrics.Address, SecureServing: o.Metrics.Secure,
		CertDir: o.Metrics.CertDir, CertName: o.Metrics.CertName, KeyName: o.Metrics.KeyName,
		// HTTP/2 has let clients make a server work for nothing (CVE-2023-44487),
		// and who scrapes metrics gains nothing by it.
		TLSOpts: []func(*tls.Config){func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }},
	}
	if o.Metrics.Secure {
		metrics.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	return manager.Options{
		Scheme: o.Scheme, Cache: o.Cache, Logger: o.Log,
		Metrics:                       metrics,
		HealthProbeBindAddress:        o.Probes,
		LeaderElection:                o.Election.Enabled,
		LeaderElectionID:              o.Name,
		LeaderElectionNamespace:       o.Election.Namespace,
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       new(cmp.Or(o.Shutdown, shutdown)),
	}
}
