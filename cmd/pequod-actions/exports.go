package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/pequod-io/pequod/actions/egress"
	actionmetrics "github.com/pequod-io/pequod/actions/metrics"
	"github.com/pequod-io/pequod/actions/notify"
	"github.com/pequod-io/pequod/actions/observe"
	"github.com/pequod-io/pequod/actions/outbox"
	"github.com/pequod-io/pequod/actions/trace"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/program"
	"github.com/pequod-io/pequod/internal/version"
)

// exportOptions are the flags of what is sent to servers outside of the cluster. All of it is off
// without an address.
type exportOptions struct {
	events, format, eventsHeader string
	revision                     bool
	parsed                       notify.Format
	traces, tracesHeader         string
}

// addFlags adds the flags.
func (o *exportOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.events, "events-addr", "",
		"address to which Events about objects of Pequod are sent, such as http://notification-controller.flux-system.svc.cluster.local./; its host must be in --allow-egress; default: none")
	fs.StringVar(&o.format, "events-format", string(notify.Flux), "format of these Events: flux or cloudevents")
	fs.StringVar(&o.eventsHeader, "events-header-file", "",
		"file with headers that are sent with these Events, one a line, such as Authorization: Bearer TOKEN; default: none")
	fs.BoolVar(&o.revision, "events-revision", false,
		"add the revision of the source to Events about objects that a Kustomization of Flux has applied, which is read for each of them")
	fs.StringVar(&o.traces, "traces-addr", "",
		"address to which traces of executions are sent with OTLP, such as http://otel-collector.observability.svc:4318/v1/traces; its host must be in --allow-egress; default: none")
	fs.StringVar(&o.tracesHeader, "traces-header-file", "", "file with headers that are sent with traces; default: none")
}

// check checks the flags.
func (o *exportOptions) check(allowed egress.Allowed) (err error) {
	if o.parsed, err = notify.ParseFormat(o.format); err != nil {
		return fmt.Errorf("--events-format: %w", err)
	}
	switch {
	case o.events == "" && o.eventsHeader != "":
		return errors.New("--events-header-file goes with --events-addr")
	case o.events == "" && o.revision:
		return errors.New("--events-revision goes with --events-addr")
	case o.events == "" && o.parsed != notify.Flux:
		return errors.New("--events-format goes with --events-addr")
	case o.traces == "" && o.tracesHeader != "":
		return errors.New("--traces-header-file goes with --traces-addr")
	}
	return cmp.Or(
		checkExport("events", o.events, o.eventsHeader, allowed),
		checkExport("traces", o.traces, o.tracesHeader, allowed),
	)
}

// checkExport checks the address and the headers of an export.
func checkExport(name, address, header string, allowed egress.Allowed) error {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Fragment != "" {
		return fmt.Errorf("--%s-addr: the address is not valid", name) // it may have a secret
	}
	if err := allowed.Check(address); err != nil {
		return fmt.Errorf("--%s-addr: %w", name, err)
	}
	if header != "" {
		if _, err := outbox.ReadHeaders(header); err != nil {
			return fmt.Errorf("--%s-header-file: %w", name, err)
		}
	}
	return nil
}

// observe adds what is reported elsewhere to the cache of the program.
func (o *options) observe(p *program.Options, scheme *runtime.Scheme) error {
	selected := observe.Options{Events: o.history.urlFile != "" || o.exports.events != "", Nodes: o.exports.traces != ""}
	if !selected.Events && !selected.Nodes {
		return nil
	}
	if err := eventsv1.AddToScheme(scheme); err != nil {
		return err
	}
	maps.Copy(p.Cache.ByObject, observe.Cache(selected))
	p.Scopes[v1alpha1.GroupVersion.WithKind("ResourceGraph")] = meta.RESTScopeNamespace
	p.Scopes[eventsv1.SchemeGroupVersion.WithKind("Event")] = meta.RESTScopeNamespace
	return nil
}

// exportTimeout limits a request: the other messages wait for it.
const exportTimeout = 10 * time.Second

// setup adds the controllers to a manager.
func (o *exportOptions) setup(m manager.Manager, allowed egress.Allowed, host, namespace string) error {
	if o.events == "" && o.traces == "" {
		return nil
	}
	client := egress.New(egress.Options{Allowed: allowed, Forbidden: servers(host), UserAgent: m.GetConfig().UserAgent, Timeout: exportTimeout})
	counts := actionmetrics.NewExports(metrics.Registry)
	leases, err := leases(m, namespace)
	if err != nil {
		return err
	}
	box := func(export, address, header string, verdict func(*egress.Response) outbox.Verdict) (*outbox.Outbox, error) {
		b := outbox.New(outbox.Options{
			URL: address, HeaderFile: header, Client: client, Verdict: verdict,
			Metrics: counts.Of(export), Log: m.GetLogger().WithName(export), Marks: leases(export),
		})
		return b, m.Add(b)
	}
	if o.events != "" {
		b, err := box("events", o.events, o.eventsHeader, o.parsed.Verdict)
		if err != nil {
			return err
		}
		to := notify.Options{Outbox: b, Format: o.parsed}
		if o.revision {
			objects, err := dynamic.NewForConfigAndClient(m.GetConfig(), m.GetHTTPClient())
			if err != nil {
				return err
			}
			to.Kustomizations = objects.Resource(notify.Kustomizations)
		}
		if err := notify.Setup(m, to); err != nil {
			return err
		}
	}
	if o.traces != "" {
		b, err := box("traces", o.traces, o.tracesHeader, trace.Verdict)
		return cmp.Or(err, trace.Setup(m, trace.Options{Outbox: b, Version: version.Program()}))
	}
	return nil
}

// leases returns a function that returns the marks of an export: a Lease beside that of the leader, or
// nil outside of a cluster, where no namespace is known.
func leases(m manager.Manager, namespace string) (func(export string) outbox.Marks, error) {
	if namespace == "" {
		// As leader election finds it.
		text, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		namespace = strings.TrimSpace(string(text))
	}
	client, err := coordination.NewForConfigAndClient(m.GetConfig(), m.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	return func(export string) outbox.Marks {
		if namespace == "" {
			return nil
		}
		return outbox.Lease{Client: client.Leases(namespace), Name: name + "-" + export}
	}, nil
}
