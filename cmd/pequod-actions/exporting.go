package main

import (
	"cmp"
	"errors"
	"maps"
	"os"
	"strings"
	"time"

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
)

// observe adds what is reported elsewhere to the cache of the program.
func (o *options) observe(p *program.Options, scheme *runtime.Scheme) error {
	selected := observe.Options{Events: o.history.urlFile != "" || o.exports.events.address != "", Nodes: o.exports.traces.address != ""}
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
	if o.events.address == "" && o.traces.address == "" {
		return nil
	}
	client := egress.New(egress.Options{Allowed: allowed, Forbidden: servers(host), UserAgent: m.GetConfig().UserAgent, Timeout: exportTimeout})
	counts := actionmetrics.NewExports(metrics.Registry)
	leases, err := leases(m, namespace)
	if err != nil {
		return err
	}
	box := func(name string, e export, verdict func(*egress.Response) outbox.Verdict) (*outbox.Outbox, error) {
		b := outbox.New(outbox.Options{
			URL: e.address, Header: e.header, HeaderFile: e.headerFile, CAFile: e.caFile, Client: client, Verdict: verdict,
			Metrics: counts.Of(name), Log: m.GetLogger().WithName(name), Marks: leases(name),
		})
		return b, m.Add(b)
	}
	if o.events.address != "" {
		b, err := box("events", o.events, o.parsed.Verdict)
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
	if o.traces.address != "" {
		b, err := box("traces", o.traces, trace.Verdict)
		return cmp.Or(err, trace.Setup(m, trace.Options{Outbox: b, Resource: o.resource}))
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
