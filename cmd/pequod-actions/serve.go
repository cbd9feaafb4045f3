package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/pequod-io/pequod/actions/action"
	"github.com/pequod-io/pequod/actions/egress"
	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/actions/executor/external"
	"github.com/pequod-io/pequod/actions/executor/http"
	"github.com/pequod-io/pequod/actions/identity"
	actionmetrics "github.com/pequod-io/pequod/actions/metrics"
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
	return nil
}

// serve runs the controller until ctx is done and requests in flight have ended.
func (o *options) serve(ctx context.Context, config *rest.Config, log logr.Logger, s *incluster.Settings) error {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return err
	}
	p := s.Program(log, scheme)
	p.Needs = []schema.GroupVersionResource{v1alpha1.GroupVersion.WithResource("actions")}
	p.Cache = cache.Options{ByObject: map[client.Object]cache.ByObject{&v1alpha1.Action{}: {Transform: cache.TransformStripManagedFields()}}}
	p.Scopes = map[schema.GroupVersionKind]meta.RESTScope{v1alpha1.GroupVersion.WithKind("Action"): meta.RESTScopeNamespace}
	p.Setup = func(m manager.Manager) error {
		accounts := identity.New(m.GetConfig(), m.GetHTTPClient())
		server := executor.Server{Secrets: accounts, Client: egress.New(egress.Options{
			Allowed: o.allowed, Forbidden: servers(config.Host), UserAgent: m.GetConfig().UserAgent,
		})}
		return action.Setup(m, action.Options{
			Executors: executors(server), Outputs: accounts, Concurrent: o.concurrent, Metrics: actionmetrics.New(metrics.Registry),
		})
	}
	return program.Run(ctx, config, p)
}

// executors returns the executors by the field of a request that is set.
func executors(server executor.Server) action.Executors {
	byHTTP, byProtocol := http.New(server), external.New(server)
	return func(request v1alpha1.ActionExecutor) executor.Executor {
		switch {
		case request.HTTP != nil:
			return byHTTP
		case request.External != nil:
			return byProtocol
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
