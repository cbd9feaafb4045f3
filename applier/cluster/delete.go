package cluster

import (
	"context"
	"encoding/json"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/graph"
)

// maxDeleteAttempts bounds the attempts to delete an object that others keep
// changing.
const maxDeleteAttempts = 4

// delete deletes an object that still is the observed one. It returns the object
// if it remains, with its finalizers, and nil if it is gone or was gone before.
//
// If the object changed since it was observed, delete reads it again and tries
// again, as long as the object still belongs to the graph and no annotation forbids
// its deletion.
func (c *Client) delete(ctx context.Context, a address, observed observed) (*unstructured.Unstructured, error) {
	for attempt := 1; ; attempt++ {
		left, err := c.deleteOnce(ctx, a, observed)
		if !apierrors.IsConflict(err) || observed.version == "" || attempt == maxDeleteAttempts {
			return left, err
		}
		live, readErr := c.get(ctx, a)
		switch {
		case readErr != nil:
			return nil, readErr
		case live == nil:
			return nil, nil
		}
		if err := observed.stillOwned(live); err != nil {
			return nil, err
		}
		if graph.KeepReason(live.Object) != "" {
			return nil, errKeepChanged
		}
		observed.version = live.GetResourceVersion()
	}
}

// deleteOnce sends one delete request with the UID and version of the observed
// object as preconditions. It returns what remains of the object, which may take
// a second request.
func (c *Client) deleteOnce(ctx context.Context, a address, observed observed) (*unstructured.Unstructured, error) {
	preconditions := &metav1.Preconditions{UID: &observed.uid}
	if observed.version != "" {
		preconditions.ResourceVersion = &observed.version
	}
	options := metav1.DeleteOptions{
		TypeMeta:          metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		Preconditions:     preconditions,
		PropagationPolicy: new(c.propagationFor(a.gvk.GroupKind())),
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
	result := c.rest.Delete().AbsPath(a.path()...).SetHeader("Content-Type", "application/json").Body(body).Do(bounded)
	left, err := decodeObject(result)
	switch {
	case apierrors.IsNotFound(err):
		return nil, c.missing(a.gvk, err)
	case err != nil:
		return nil, err
	case c.DryRun:
	case confirmsDeletion(left, a.gvk.GroupKind()):
		return nil, nil
	case left.GetDeletionTimestamp() != nil && len(left.GetFinalizers()) > 0:
		return left, nil
	}
	return c.get(ctx, a)
}

// confirmsDeletion reports whether the response to a delete proves that the object
// is gone. The response is then a Status or, for some built-in kinds, the object
// without a deletionTimestamp (k8s.io/apiserver's registry, Store.Delete). An
// object with a deletionTimestamp may be gone or not.
func confirmsDeletion(response *unstructured.Unstructured, gk schema.GroupKind) bool {
	if response.GetKind() == "Status" && response.GetAPIVersion() == "v1" {
		return true
	}
	_, builtIn := graph.ClusterScoped(gk)
	return builtIn && response.GetDeletionTimestamp() == nil
}

// propagationFor returns the propagation policy for objects of a kind; see
// [Client.Propagation].
func (c *Client) propagationFor(gk schema.GroupKind) metav1.DeletionPropagation {
	_, builtIn := graph.ClusterScoped(gk)
	switch {
	case c.Propagation != "":
		return metav1.DeletionPropagation(c.Propagation)
	case !builtIn, gk.Group == "apps", gk.Group == "batch":
		return metav1.DeletePropagationForeground
	}
	return metav1.DeletePropagationBackground
}
