package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/pequod-io/pequod/actions/action"
	"github.com/pequod-io/pequod/actions/egress"
	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/actions/executor/external"
	"github.com/pequod-io/pequod/actions/executor/github"
	"github.com/pequod-io/pequod/actions/executor/gitlab"
	"github.com/pequod-io/pequod/actions/executor/http"
	"github.com/pequod-io/pequod/actions/executor/job"
	"github.com/pequod-io/pequod/actions/executor/terraform"
	"github.com/pequod-io/pequod/actions/identity"
	actionmetrics "github.com/pequod-io/pequod/actions/metrics"
	"github.com/pequod-io/pequod/actions/monitor"
	"github.com/pequod-io/pequod/actions/probe"
	"github.com/pequod-io/pequod/actions/reaction"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/program"
	"github.com/pequod-io/pequod/cmd/internal/incluster"
)

// check checks the values of the flags.
func (o *options) check() (err error) {
	if o.concurrent < 1 {
		return fmt.Errorf("--concurrent: must be at least 1, not %d", o.concurrent)
	}
	if o.allowed, err = egress.ParseAllowed(o.allow); err != nil {
		return fmt.Errorf("--allow-egress: %w", err)
	}
	if o.pods, err = egress.ParseNetworks("--monitor-networks", o.networks); err != nil {
		return fmt.Errorf("--monitor-networks: %w", err)
	}
	if err := o.history.check(); err != nil {
		return err
	}
	if err := o.exports.check(o.allowed); err != nil {
		return err
	}
	return o.receivers.check()
}

// serve runs the controllers until ctx is done and requests in flight have ended.
func (o *options) serve(ctx context.Context, config *rest.Config, log logr.Logger, s *incluster.Settings) error {
	if text := unused(os.Environ()); text != "" {
		log.Info(text)
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return err
	}
	p := s.Program(log, scheme)
	stripped := cache.ByObject{Transform: cache.TransformStripManagedFields()}
	p.Cache = cache.Options{ByObject: map[client.Object]cache.ByObject{
		&v1alpha1.Action{}: stripped, &v1alpha1.Monitor{}: stripped, &v1alpha1.Receiver{}: stripped,
	}}
	p.Scopes = map[schema.GroupVersionKind]meta.RESTScope{}
	for kind, resource := range map[string]string{"Action": "actions", "Monitor": "monitors", "Receiver": "receivers"} {
		p.Scopes[v1alpha1.GroupVersion.WithKind(kind)] = meta.RESTScopeNamespace
		p.Needs = append(p.Needs, v1alpha1.GroupVersion.WithResource(resource))
	}
	if err := o.observe(&p, scheme); err != nil {
		return err
	}
	p.Setup = func(m manager.Manager) error {
		if err := o.history.setup(m); err != nil {
			return err
		}
		accounts := identity.New(m.GetConfig(), m.GetHTTPClient())
		connect := func(allowed egress.Allowed) *egress.Client {
			return egress.New(egress.Options{Allowed: allowed, Forbidden: servers(config.Host), UserAgent: m.GetConfig().UserAgent})
		}
		hosts, counts := connect(o.allowed), actionmetrics.New(metrics.Registry)
		err := action.Setup(m, action.Options{
			Executors: executors(executor.Server{Secrets: accounts, Client: hosts}, accounts, o.runner), Outputs: accounts, Concurrent: o.concurrent, Metrics: counts,
		})
		if err != nil {
			return err
		}
		if err := o.receivers.setup(m, accounts, hosts); err != nil {
			return err
		}
		if err := o.exports.setup(m, o.allowed, config.Host, s.Election.Namespace); err != nil {
			return err
		}
		return o.monitors(m, accounts, hosts, connect(o.pods), actionmetrics.NewMonitors(metrics.Registry, counts))
	}
	return program.Run(ctx, config, p)
}

// monitors adds the controller of Monitors to a manager.
func (o *options) monitors(m manager.Manager, accounts *identity.Accounts, hosts, pods *egress.Client, counts *actionmetrics.Monitors) error {
	var controller *monitor.Controller
	prober := &probe.Prober{Pods: pods, Hosts: hosts, Accounts: accounts}
	var err error
	// Watches begin after the controller has started.
	prober.Watches, err = probe.NewWatches(accounts, m.GetLogger(), func(name types.NamespacedName) { controller.Wake(name) })
	if err != nil {
		return err
	}
	if err := m.Add(prober.Watches); err != nil {
		return err
	}
	controller, err = monitor.Setup(m, monitor.Options{
		Prober: prober, Metrics: counts, Concurrent: o.concurrent,
		Reactor: &reaction.Reactor{
			Accounts: accounts, Mapper: m.GetRESTMapper(), Pods: prober, Hosts: hosts, Exec: o.exec,
		},
	})
	if err != nil {
		return err
	}
	// It is behind the filter of /metrics, with the right to get its own path.
	return m.AddMetricsServerExtraHandler("/stats", controller.Stats())
}

// executors returns the executors by the field of a request that is set.
func executors(server executor.Server, accounts *identity.Accounts, runnerImage string) action.Executors {
	byHTTP, byProtocol, byGitHub, byGitLab := http.New(server), external.New(server), github.New(server), gitlab.New(server)
	jobs := job.Jobs{Accounts: accounts, Now: time.Now}
	byJob, byTerraform := job.New(jobs), terraform.New(jobs, runnerImage)
	return func(request v1alpha1.ActionExecutor) executor.Executor {
		switch {
		case request.HTTP != nil:
			return byHTTP
		case request.Job != nil:
			return byJob
		case request.External != nil:
			return byProtocol
		case request.GitHubWorkflow != nil:
			return byGitHub
		case request.GitLabPipeline != nil:
			return byGitLab
		case request.Terraform != nil:
			return byTerraform
		}
		return nil
	}
}

// servers returns a function that returns the addresses of the API server, which no Action may
// connect to. A name is resolved at each call, since its addresses may change.
func servers(host string) func(context.Context) ([]netip.AddrPort, error) {
	u, err := url.Parse(host)
	if err != nil || u.Host == "" {
		u, err = url.Parse("https://" + host)
	}
	return func(ctx context.Context) ([]netip.AddrPort, error) {
		if err != nil {
			return nil, err
		}
		port, err := strconv.ParseUint(u.Port(), 10, 16)
		if err != nil {
			port = 443
		}
		ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
		if err != nil {
			return nil, err
		}
		var all []netip.AddrPort
		for _, ip := range ips {
			all = append(all, netip.AddrPortFrom(ip.Unmap(), uint16(port)))
		}
		return all, nil
	}
}
