package process

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
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
		resource := c.Dynamic.Resource(v1alpha1.GroupVersion.WithResource(name))
		list, err := resource.List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			continue // the kind isn't installed
		}
		if err != nil {
			return err
		}
		for _, o := range list.Items {
			objects := resource.Namespace(o.GetNamespace())
			_, err := objects.Patch(ctx, o.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			failed = append(failed, client.IgnoreNotFound(err), client.IgnoreNotFound(objects.Delete(ctx, o.GetName(), remove)))
		}
	}
	for _, resource := range left {
		failed = append(failed, c.Dynamic.Resource(resource).Namespace(c.Namespace).DeleteCollection(ctx, remove, metav1.ListOptions{}))
	}
	// A program that was killed holds its lease.
	leases := schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	failed = append(failed, c.Dynamic.Resource(leases).Namespace(Namespace).DeleteCollection(ctx, remove, metav1.ListOptions{}))
	return errors.Join(failed...)
}
