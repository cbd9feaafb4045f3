package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/execute"
)

// remover removes objects and says so on out, as kubectl does.
type remover struct {
	applier  *applier.Applier
	dynamic  dynamic.Interface
	dryRun   string
	out, err io.Writer
}

func newRemover(a *applier.Applier, dryRun string, out, err io.Writer) *remover {
	return &remover{applier: a, dynamic: dynamic.New(a.Client.REST()), dryRun: dryRun, out: out, err: err}
}

// resource is where an object is, nil if its kind isn't served.
func (r *remover) resource(ctx context.Context, gvk schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	kind, err := r.applier.Client.Kinds().Find(ctx, gvk)
	if err != nil {
		var none *cluster.NoKindError
		if errors.As(err, &none) {
			return nil, nil
		}
		return nil, err
	}
	if !kind.Namespaced || namespace == "" {
		return r.dynamic.Resource(kind.Resource), nil
	}
	return r.dynamic.Resource(kind.Resource).Namespace(namespace), nil
}

func (r *remover) get(ctx context.Context, obj *unstructured.Unstructured) (live *unstructured.Unstructured, err error) {
	err = cluster.Retry(ctx, func() error {
		resource, err := r.resource(ctx, obj.GroupVersionKind(), obj.GetNamespace())
		if err != nil || resource == nil {
			return err
		}
		live, err = resource.Get(ctx, obj.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			live, err = nil, nil
		}
		return err
	})
	return live, err
}

func (r *remover) list(ctx context.Context, gvk schema.GroupVersionKind, namespace string) (items []*unstructured.Unstructured, err error) {
	err = cluster.Retry(ctx, func() error {
		resource, err := r.resource(ctx, gvk, namespace)
		if err != nil || resource == nil {
			return err
		}
		list, err := resource.List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		items = nil
		for i := range list.Items {
			items = append(items, &list.Items[i])
		}
		return nil
	})
	return items, err
}

// remove asks for the deletion of what was looked at, with all that it controls.
func (r *remover) remove(ctx context.Context, obj *unstructured.Unstructured) error {
	if r.dryRun != "client" {
		options := metav1.DeleteOptions{
			Preconditions:     &metav1.Preconditions{UID: new(obj.GetUID())},
			PropagationPolicy: new(metav1.DeletePropagationForeground),
		}
		if r.dryRun == "server" {
			options.DryRun = []string{metav1.DryRunAll}
		}
		err := cluster.Retry(ctx, func() error {
			resource, err := r.resource(ctx, obj.GroupVersionKind(), obj.GetNamespace())
			if err != nil || resource == nil {
				return err
			}
			err = resource.Delete(ctx, obj.GetName(), options)
			if apierrors.IsNotFound(err) {
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return r.say(obj, "deleted")
}

func (r *remover) say(obj *unstructured.Unstructured, what string) error {
	if r.dryRun != "none" {
		what += fmt.Sprintf(" (%s dry run)", r.dryRun)
	}
	_, err := fmt.Fprintln(r.out, kubectlName(obj), what)
	return command.OutputError(err)
}

// gone waits until objects are gone, and names those that aren't in time.
func (r *remover) gone(ctx context.Context, objects []*unstructured.Unstructured) error {
	if r.dryRun != "none" {
		return nil
	}
	for left := objects; ; {
		var still []*unstructured.Unstructured
		for _, obj := range left {
			live, err := r.get(ctx, obj)
			if ctx.Err() != nil {
				return r.late(ctx, left)
			}
			if err != nil {
				return err
			}
			if live != nil && live.GetUID() == obj.GetUID() {
				still = append(still, live)
			}
		}
		if left = still; len(left) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return r.late(ctx, left)
		case <-time.After(execute.DeletionPoll / 5):
		}
	}
}

func (r *remover) late(ctx context.Context, left []*unstructured.Unstructured) error {
	for _, obj := range left {
		text := kubectlName(obj) + " isn't gone"
		if held := obj.GetFinalizers(); len(held) > 0 {
			text += ": held by finalizer " + strings.Join(held, ", ")
		}
		fmt.Fprintln(r.err, text)
	}
	return ctx.Err()
}

// kubectlName names an object as kubectl does when it changes one.
func kubectlName(obj *unstructured.Unstructured) string {
	name := strings.ToLower(obj.GetKind())
	if group := obj.GroupVersionKind().Group; group != "" {
		name += "." + group
	}
	name += "/" + obj.GetName()
	if ns := obj.GetNamespace(); ns != "" && ns != installNamespace {
		name += " -n " + ns
	}
	return name
}
