package install

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/kube"
)

// pollInterval is the pause between reads of objects that are waited for. It is
// short, because an uninstall waits for few objects and only for a short time.
const pollInterval = 200 * time.Millisecond

// remover reads and deletes single objects. It prints a line on stdout for each
// change, in the form of kubectl, and explanations on stderr. A request that fails
// with an error of the API server itself is repeated. A kind that the cluster
// doesn't serve has no objects.
type remover struct {
	// mode selects the program to remove.
	mode mode
	// applier reads objects, and releases those of graphs.
	applier *applier.Applier
	// objects sends deletions and patches, over the connection of applier.
	objects dynamic.Interface
	// dryRun is one of execute.DryRunModes. With "server", deletions are sent as
	// dry runs; with "client" nothing is sent but reads. Both print the same lines
	// and never wait.
	dryRun string
	// env receives the lines.
	env command.Env
}

// newRemover returns a remover for the cluster of a. dryRun is one of
// execute.DryRunModes.
func newRemover(a *applier.Applier, m mode, dryRun string, env command.Env) *remover {
	return &remover{mode: m, applier: a, objects: dynamic.New(a.Client.REST()), dryRun: dryRun, env: env}
}

// get reads the live state of obj. It returns nil if obj doesn't exist, or if the
// cluster doesn't serve its kind.
func (r *remover) get(ctx context.Context, obj *unstructured.Unstructured) (live *unstructured.Unstructured, err error) {
	err = cluster.Retry(ctx, func() error {
		live, err = r.applier.Client.Get(ctx, engine.KeyOf(obj), obj.GroupVersionKind().Version)
		return ignoreAbsent(err)
	})
	return live, err
}

// list reads all objects of a selection. A kind that the cluster doesn't serve has none.
func (r *remover) list(ctx context.Context, s cluster.Selection) (items []*unstructured.Unstructured, err error) {
	err = cluster.Retry(ctx, func() error {
		listing, err := r.applier.Client.List(ctx, s)
		if err != nil {
			return ignoreAbsent(err)
		}
		for _, obj := range listing.Objects {
			obj.SetGroupVersionKind(s.GVK) // the items of a list may lack it
			items = append(items, &obj)
		}
		return nil
	})
	return items, err
}

// listServed reads all objects of a kind in all namespaces, in any version that the
// cluster serves. There are none only if no CustomResourceDefinition defines the kind.
func (r *remover) listServed(ctx context.Context, gvk schema.GroupVersionKind) ([]*unstructured.Unstructured, error) {
	served := gvk
	err := cluster.Retry(ctx, func() (err error) {
		_, served, err = r.applier.Client.Kinds().FindServed(ctx, gvk)
		return err
	})
	if err != nil {
		return nil, ignoreAbsent(err)
	}
	return r.list(ctx, cluster.Selection{GVK: served})
}

// ignoreAbsent returns nil for the errors that an object doesn't exist, or that
// the cluster doesn't serve its kind.
func ignoreAbsent(err error) error {
	var notServed *cluster.NoKindError
	if apierrors.IsNotFound(err) || errors.As(err, &notServed) {
		return nil
	}
	return err
}

// do sends a request about obj, and repeats it as long as [cluster.Retry] does.
// It succeeds if obj is already gone. send must be safe to repeat.
func (r *remover) do(ctx context.Context, obj *unstructured.Unstructured, send func(dynamic.ResourceInterface) error) error {
	return cluster.Retry(ctx, func() error {
		kind, err := r.applier.Client.Kinds().Find(ctx, obj.GroupVersionKind())
		if err != nil {
			return ignoreAbsent(err)
		}
		var resource dynamic.ResourceInterface = r.objects.Resource(kind.Resource)
		if kind.Namespaced {
			resource = r.objects.Resource(kind.Resource).Namespace(obj.GetNamespace())
		}
		return ignoreAbsent(send(resource))
	})
}

// delete requests the deletion of obj and of everything that it controls. It
// doesn't touch another object that has taken its name in the meantime.
func (r *remover) delete(ctx context.Context, obj *unstructured.Unstructured) error {
	if r.dryRun != "client" {
		// Foreground: the object stays until its dependents, such as Pods, are gone.
		options := metav1.DeleteOptions{
			Preconditions:     &metav1.Preconditions{UID: new(obj.GetUID())},
			PropagationPolicy: new(metav1.DeletePropagationForeground),
		}
		if r.dryRun == "server" {
			options.DryRun = []string{metav1.DryRunAll}
		}
		err := r.do(ctx, obj, func(resource dynamic.ResourceInterface) error {
			return resource.Delete(ctx, obj.GetName(), options)
		})
		if err != nil {
			return err
		}
	}
	return r.print(obj, "deleted")
}

// print prints the line for a change of obj, such as
// "deployment.apps/pequod-applier deleted" or
// "clusterrole.rbac.authorization.k8s.io/x deleted (server dry run)".
func (r *remover) print(obj *unstructured.Unstructured, change string) error {
	if r.dryRun != "none" {
		change += fmt.Sprintf(" (%s dry run)", r.dryRun)
	}
	_, err := fmt.Fprintln(r.env.Out, kubectlName(obj), change)
	return command.OutputError(err)
}

// wait returns when all objects are gone. If ctx ends first, it prints the objects
// that are left, with their finalizers, and returns the error of ctx.
func (r *remover) wait(ctx context.Context, objects []*unstructured.Unstructured) error {
	if r.dryRun != "none" {
		return nil
	}
	left := objects
	for {
		var still []*unstructured.Unstructured
		for _, obj := range left {
			live, err := r.get(ctx, obj)
			switch {
			case ctx.Err() != nil:
				still = append(still, obj) // reported below
			case err != nil:
				return err
			// Another UID is a new object of the same name.
			case live != nil && live.GetUID() == obj.GetUID():
				still = append(still, live)
			}
		}
		if left = still; len(left) == 0 {
			return nil
		}
		if err := sleep(ctx); err != nil {
			for _, obj := range left {
				text := kubectlName(obj) + " still exists"
				if finalizers := obj.GetFinalizers(); len(finalizers) > 0 {
					text += ": it has finalizer " + strings.Join(finalizers, ", ")
				}
				fmt.Fprintln(r.env.Err, text)
			}
			return err
		}
	}
}

// sleep waits for pollInterval. If ctx ends first, it returns the error of ctx.
func sleep(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pollInterval):
		return nil
	}
}

// kubectlName returns the name of an object as kubectl prints it when it changes
// one, such as "deployment.apps/web -n shop". The applier's own namespace is left
// out.
func kubectlName(obj *unstructured.Unstructured) string {
	name := kube.ResourceName(obj.GroupVersionKind().Group, obj.GetKind(), obj.GetName())
	if ns := obj.GetNamespace(); ns != "" && ns != installNamespace {
		name += " -n " + ns
	}
	return name
}
