package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/internal/source"
)

// reconcileOptions are the flags of reconcile.
type reconcileOptions struct {
	// ConnectionFlags select the cluster and the user.
	kube.ConnectionFlags
	// namespace is the namespace of the object.
	namespace string
	// wait waits until the reconciliation has ended.
	wait bool
	// timeout limits wait; 0 means no limit.
	timeout time.Duration
}

// newReconcileCommand returns the command "reconcile".
func newReconcileCommand(env command.Env) *cobra.Command {
	o := &reconcileOptions{}
	cmd := &cobra.Command{
		Use:   "reconcile {NAME | TYPE/NAME | TYPE NAME}",
		Short: "Request a reconciliation of a graph, an instance or an Action",
		Long: `Request a reconciliation of an object in the cluster now: set the annotation
pequod.io/reconcile-requested-at to the current time. Without a type, NAME is that of a
ResourceGraph or of the instance that it was rendered from. Types are named as for
kubectl: resourcegraph, transform, action, monitor, receiver, or the kind of an instance that pequod-manager executes. An object of another kind
stands for the graph that it belongs to.

A graph is executed again: failures are retried at once, and drift is corrected. An Action
whose last run failed or was refused runs again, and so does one that is ready. An instance is
rendered again, and its graph executed. A Monitor is polled, and a Receiver reads its Secret.

With --wait, the command waits until the controller has handled the request, and the object
is ready or has failed.

The exit code is 0 if the request was stored, and with --wait if the object is ready; 1 if
the object is not ready, or the controller did not finish in time; 2 if the cluster could
not be reached or has no such object, or if the object is suspended.`,
		Example: `  pequod reconcile web-1b2c3d4e -n shop --wait
  pequod reconcile action/production-pg -n shop
  pequod reconcile webservice/web -n shop --wait --timeout 2m`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), env, args) },
	}
	o.ConnectionFlags.AddFlags(cmd)
	fl := cmd.Flags()
	fl.StringVarP(&o.namespace, "namespace", "n", "", "namespace of the object")
	kube.FollowContext(cmd)
	fl.BoolVar(&o.wait, "wait", false, "wait until the object is ready or has failed")
	fl.DurationVar(&o.timeout, "timeout", 5*time.Minute, "time limit of --wait; 0 means no limit")
	names := kube.CompleteGraphNames(env, &o.ConnectionFlags, &o.namespace)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, given []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(given) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(cmd, given, prefix)
	}
	return cmd
}

// run stores the request and waits for its end with --wait.
func (o *reconcileOptions) run(ctx context.Context, env command.Env, args []string) error {
	if o.timeout < 0 {
		return errors.New("--timeout: must not be negative")
	}
	o.DefaultNamespace(&o.namespace)
	if err := kube.CheckNames(o.namespace, nil); err != nil {
		return err
	}
	kind, name, err := kube.ParseObject(args)
	if err != nil {
		return err
	}
	a, err := o.Connect(kube.PrintWarnings(env.Err))
	if err != nil {
		return err
	}
	object, err := o.object(ctx, a, kind, name)
	if err != nil {
		return err
	}
	live, err := a.Client.Get(ctx, object.Key, object.GVK.Version)
	switch {
	case err != nil:
		return kube.Error(err)
	case live == nil:
		return fmt.Errorf("%s: there is no such object", object.Key)
	}
	if reason := suspended(live); reason != "" {
		return fmt.Errorf("%s is suspended: %s", object.Key, reason)
	}
	if err := request(ctx, a.Client, object, time.Now()); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(env.Out, "%s reconciliation requested\n", object); err != nil || !o.wait {
		return command.OutputError(err)
	}
	return o.await(ctx, env, a.Client, object)
}

// object returns the object to reconcile: one of Pequod's own kinds, an instance, or the graph of an
// instance or of another object.
func (o *reconcileOptions) object(ctx context.Context, a *applier.Applier, kind, name string) (kube.Object, error) {
	switch own := kube.OwnKind(kind); own {
	case "ResourceGraph":
	case "":
		object, err := o.Find(ctx, a.Client, kind, name, o.namespace)
		if err == nil {
			instance, err := kube.IsInstance(ctx, a.Client, object)
			if err != nil || instance {
				return object, err
			}
		}
		name = kind + "/" + name // Graph has the error of an unknown kind
	default:
		return o.Find(ctx, a.Client, kind, name, o.namespace)
	}
	owner, err := o.Graph(ctx, a, name, o.namespace)
	if err != nil {
		return kube.Object{}, err
	}
	return o.Find(ctx, a.Client, "resourcegraph", owner.Name, owner.Namespace)
}

// suspended returns why an object isn't reconciled, or "".
func suspended(live *unstructured.Unstructured) string {
	if live.GetLabels()[v1alpha1.LabelPaused] == "true" {
		return "it has the label " + v1alpha1.LabelPaused
	}
	if suspend, _, _ := unstructured.NestedBool(live.Object, "spec", "suspend"); suspend {
		return "spec.suspend is true"
	}
	return ""
}

// request sets the annotation that requests a reconciliation.
func request(ctx context.Context, client *cluster.Client, o kube.Object, now time.Time) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{v1alpha1.AnnotationReconcileRequestedAt: now.UTC().Format(time.RFC3339Nano)},
	}})
	if err != nil {
		return err
	}
	return kube.Error(client.REST().Patch(types.MergePatchType).
		AbsPath("/apis", o.GVK.Group, o.GVK.Version).NamespaceIfScoped(o.Key.Namespace, o.Kind.Namespaced).
		Resource(o.Kind.Resource.Resource).Name(o.Key.Name).Param("fieldManager", "pequod-reconcile").
		Body(patch).Do(ctx).Error())
}

// errNotHandled means that the time of --wait has run out.
var errNotHandled = errors.New("the reconciliation did not end in time; --timeout sets the limit")

// await waits until the request was handled, and prints how it ended.
func (o *reconcileOptions) await(ctx context.Context, env command.Env, client *cluster.Client, object kube.Object) error {
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.timeout, errNotHandled)
		defer cancel()
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	events := make(chan cluster.Event)
	go client.Watch(ctx, cluster.Selection{GVK: object.GVK, Namespace: object.Key.Namespace, Name: object.Key.Name}, events)
	last := outcome{message: "the cluster did not answer"}
	for {
		select {
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errNotHandled) {
				return command.ExitError{Code: command.ExitNo, Causes: []error{fmt.Errorf("%s: %w: %s", object.Key, errNotHandled, source.Escape(last.message, ""))}}
			}
			return context.Cause(ctx)
		case ev := <-events:
			if last = outcomeOf(ev); !last.ended {
				continue
			}
			if !last.ready {
				return command.ExitError{Code: command.ExitNo, Causes: []error{fmt.Errorf("%s is not ready: %s", object.Key, source.Escape(last.message, ""))}}
			}
			_, err := fmt.Fprintf(env.Out, "%s is ready: %s\n", object, source.Escape(last.message, ""))
			return command.OutputError(err)
		}
	}
}
