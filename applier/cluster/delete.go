package cluster

import (
	"context"
	"encoding/json"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/graph"
)

// delete removes an object if it still is the one that was looked at, and gives
// what is left of it: nil if it is gone. That it was gone before is success.
func (c *Client) delete(ctx context.Context, a address, uid types.UID) (*unstructured.Unstructured, error) {
	options := metav1.DeleteOptions{
		TypeMeta:          metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		Preconditions:     &metav1.Preconditions{UID: &uid},
		PropagationPolicy: new(c.propagation(a.gvk.GroupKind())),
	}
	if c.DryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	body, err := json.Marshal(options)
	if err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	result := c.rest.Delete().AbsPath(path(a)...).SetHeader("Content-Type", "application/json").Body(body).Do(bounded)
	left, err := answer(result)
	switch {
	case apierrors.IsNotFound(err):
		return nil, c.confirm(a, err)
	case err != nil:
		return nil, err
	case c.DryRun:
	case isGone(left, a.gvk.GroupKind()):
		return nil, nil
	case left.GetDeletionTimestamp() != nil && len(left.GetFinalizers()) > 0:
		return left, nil
	}
	return c.get(ctx, a)
}

// isGone says whether the answer to a delete tells that the object is gone: it
// is a Status then, or of some kinds of Kubernetes' own the object as it was,
// which nobody marked as being deleted (k8s.io/apiserver's registry, Store.Delete).
// An object that is marked may be gone or not.
func isGone(left *unstructured.Unstructured, gk schema.GroupKind) bool {
	if left.GetKind() == "Status" && left.GetAPIVersion() == "v1" {
		return true
	}
	_, builtIn := graph.ClusterScoped(gk)
	return builtIn && left.GetDeletionTimestamp() == nil
}

func (c *Client) propagation(gk schema.GroupKind) metav1.DeletionPropagation {
	_, builtIn := graph.ClusterScoped(gk)
	switch {
	case c.Propagation != "":
		return metav1.DeletionPropagation(c.Propagation)
	case !builtIn, gk.Group == "apps", gk.Group == "batch":
		return metav1.DeletePropagationForeground
	}
	return metav1.DeletePropagationBackground
}
