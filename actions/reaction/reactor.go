package reaction

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/pequod-io/pequod/actions/egress"
	"github.com/pequod-io/pequod/actions/identity"
	"github.com/pequod-io/pequod/actions/monitor"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// fieldManager owns the fields that Monitors apply.
const fieldManager = "pequod-monitor"

// Lister lists the Pods of a Monitor's target.
type Lister interface {
	List(ctx context.Context, m *v1alpha1.Monitor) ([]corev1.Pod, error)
}

// Reactor does reactions. It is safe for concurrent use.
type Reactor struct {
	Accounts *identity.Accounts
	Mapper   meta.RESTMapper
	Pods     Lister
	// Hosts sends requests to addresses that are allowed.
	Hosts *egress.Client
	// Exec allows commands in containers.
	Exec bool
}

// errExec is the error of commands that the program doesn't allow.
var errExec = errors.New("is off; see --enable-exec of pequod-actions")

// Check implements [monitor.Reactor].
func (r *Reactor) Check(_ *v1alpha1.Monitor, do v1alpha1.MonitorReaction) error {
	switch {
	case do.Exec != nil && !r.Exec:
		return errExec
	case do.Name() == "":
		return errors.New("exactly one reaction is required")
	}
	return nil
}

// Do implements [monitor.Reactor].
func (r *Reactor) Do(ctx context.Context, m *v1alpha1.Monitor, do v1alpha1.MonitorReaction, on monitor.Occasion) (string, error) {
	switch {
	case do.RestartPods != nil:
		return r.restart(ctx, m, do.RestartPods, on)
	case do.Scale != nil:
		return r.scale(ctx, m, do.Scale)
	case do.Patch != nil:
		return r.patch(ctx, m, do.Patch)
	case do.HTTP != nil:
		return r.http(ctx, m, do.HTTP, on)
	case do.Exec != nil:
		return r.exec(ctx, m, do.Exec, on)
	case do.Run != nil:
		return r.reconcile(ctx, m, &v1alpha1.ReconcileReaction{Kind: "Action", Name: do.Run.Action}, on)
	case do.Reconcile != nil:
		return r.reconcile(ctx, m, do.Reconcile, on)
	}
	return "", errors.New("exactly one reaction is required")
}

// objects returns a client for the objects of a kind in the namespace of a Monitor.
func (r *Reactor) objects(m *v1alpha1.Monitor, apiVersion, kind string) (dynamic.ResourceInterface, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, err
	}
	mapping, err := r.Mapper.RESTMapping(gv.WithKind(kind).GroupKind(), gv.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return nil, fmt.Errorf("kind %s has no namespaces", kind)
	}
	client, err := dynamic.NewForConfigAndClient(r.Accounts.As(m.Namespace, m.Spec.ServiceAccountName))
	if err != nil {
		return nil, err
	}
	return client.Resource(mapping.Resource).Namespace(m.Namespace), nil
}
