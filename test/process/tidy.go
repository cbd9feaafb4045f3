package process

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/harness"
)

// reconciled are the resources that the programs reconcile.
var reconciled = []string{"actions", "monitors", "receivers", "resourcegraphs", "transforms"}

// left are the resources in the namespace of a test that would go on, each with those that it makes,
// and the Events, which the programs of the next test would store in the history.
var left = []schema.GroupVersionResource{
	{Group: "apps", Version: "v1", Resource: "deployments"},
	{Group: "apps", Version: "v1", Resource: "statefulsets"},
	{Group: "batch", Version: "v1", Resource: "jobs"},
	{Version: "v1", Resource: "pods"},
	{Version: "v1", Resource: "events"},
}

// tidy removes from a cluster what the programs of the next test would work on or wait for. No
// program runs in it any more, so nobody takes off finalizers.
func tidy(ctx context.Context, c *harness.Cluster) error {
	background := metav1.DeletePropagationBackground
	remove := metav1.DeleteOptions{PropagationPolicy: &background}
	var failed []error
	for _, name := range reconciled {
		failed = append(failed, empty(ctx, c, v1alpha1.GroupVersion.WithResource(name)))
	}
	failed = append(failed, undefine(ctx, c))
	for _, resource := range left {
		failed = append(failed, c.Dynamic.Resource(resource).Namespace(c.Namespace).DeleteCollection(ctx, remove, metav1.ListOptions{}))
	}
	// A program that was killed holds its lease.
	leases := schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	failed = append(failed, c.Dynamic.Resource(leases).Namespace(Namespace).DeleteCollection(ctx, remove, metav1.ListOptions{}))
	return errors.Join(failed...)
}

// empty deletes all objects of a resource, without regard to their finalizers.
func empty(ctx context.Context, c *harness.Cluster, of schema.GroupVersionResource) error {
	resource := c.Dynamic.Resource(of)
	list, err := resource.List(ctx, metav1.ListOptions{})
	if err != nil {
		return client.IgnoreNotFound(err) // the kind isn't installed
	}
	var failed []error
	background := metav1.DeletePropagationBackground
	for _, o := range list.Items {
		objects := resource.Namespace(o.GetNamespace())
		_, err := objects.Patch(ctx, o.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		failed = append(failed, client.IgnoreNotFound(err), client.IgnoreNotFound(objects.Delete(ctx, o.GetName(), metav1.DeleteOptions{PropagationPolicy: &background})))
	}
	return errors.Join(failed...)
}

// undefine deletes the kinds of instances, and waits until they are gone: the manager takes over none that
// a test has written.
func undefine(ctx context.Context, c *harness.Cluster) error {
	definitions := c.Dynamic.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	list, err := definitions.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, o := range list.Items {
		resource, group, _ := strings.Cut(o.GetName(), ".")
		if group != "pequod.io" {
			continue
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, definition); err != nil {
			return err
		}
		if err := empty(ctx, c, schema.GroupVersionResource{Group: group, Version: definition.Spec.Versions[0].Name, Resource: resource}); err != nil {
			return err
		}
		if err := definitions.Delete(ctx, o.GetName(), metav1.DeleteOptions{}); client.IgnoreNotFound(err) != nil {
			return err
		}
		if err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			_, err := definitions.Get(ctx, o.GetName(), metav1.GetOptions{})
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		}); err != nil {
			return fmt.Errorf("waiting for the end of %s: %w", o.GetName(), err)
		}
	}
	return nil
}
