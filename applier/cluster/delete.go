package cluster

import (
	"context"
	"encoding/json"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/applier/engine"
)

// claim is an object as it was judged to be a graph's own.
type claim struct {
	uid     types.UID
	version string // "" if any will do
	owner   string // selects the labels of the graph
}

// holds says whether an object that was changed since is still the graph's.
func (w claim) holds(live *unstructured.Unstructured) error {
	if live == nil || live.GetUID() != w.uid {
		return errChanged
	}
	owner, err := labels.Parse(w.owner)
	if err != nil {
		return err
	}
	if live.GetResourceVersion() != w.version && !owner.Matches(labels.Set(live.GetLabels())) {
		return errTaken
	}
	return nil
}

// errTaken says that an object stopped to be the graph's since it was looked at.
var errTaken = &engine.Failure{Reason: engine.ReasonApplyFailed, Message: "was changed since, and isn't the graph's any more"}

// removeTries is how often an object is looked at again that others change
// while it is to be removed.
const removeTries = 4

// delete removes an object if it still is the one that was looked at, and gives
// what is left of it: nil if it is gone. That it was gone before is success. One
// that was changed since goes too, as long as it is the graph's.
func (c *Client) delete(ctx context.Context, a address, was claim) (*unstructured.Unstructured, error) {
	for try := 1; ; try++ {
		left, err := c.deleteOnce(ctx, a, was)
		if !apierrors.IsConflict(err) || was.version == "" || try == removeTries {
			return left, err
		}
		live, readErr := c.get(ctx, a)
		switch {
		case readErr != nil:
			return nil, readErr
		case live == nil:
			return nil, nil
		}
		if err := was.holds(live); err != nil {
			return nil, err
		}
		was.version = live.GetResourceVersion()
	}
}

func (c *Client) deleteOnce(ctx context.Context, a address, was claim) (*unstructured.Unstructured, error) {
	precondition := &metav1.Preconditions{UID: &was.uid}
	if was.version != "" {
		precondition.ResourceVersion = &was.version
	}
	options := metav1.DeleteOptions{
		TypeMeta:          metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		Preconditions:     precondition,
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
