package graphs

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// HasFinalizer reports whether the applier's finalizer is on a graph. It keeps a
// deleted graph until the graph's objects are deleted.
func HasFinalizer(rg *v1alpha1.ResourceGraph) bool {
	return slices.Contains(rg.Finalizers, v1alpha1.Finalizer)
}

// AddFinalizer adds the finalizer to a graph, and the annotation with the UID of the cluster
// that has its objects, unless that is "". If the graph was changed since it
// was read, it is read again. AddFinalizer returns the graph as it was read last,
// and the resource version that the write led to.
//
// If the graph that was read again is another one of the same name, it is
// returned without a write: the caller compares UIDs.
func (c *Client) AddFinalizer(ctx context.Context, rg *v1alpha1.ResourceGraph, cluster string) (*v1alpha1.ResourceGraph, string, error) {
	for range maxConflicts {
		version, err := c.setFinalizer(ctx, rg, true, cluster)
		if !apierrors.IsConflict(err) {
			return rg, version, err
		}
		uid := rg.UID
		if rg, err = c.Get(ctx, Key(rg)); err != nil {
			return nil, "", err
		}
		if rg.UID != uid || HasFinalizer(rg) && rg.Annotations[v1alpha1.AnnotationCluster] == cluster {
			return rg, rg.ResourceVersion, nil
		}
	}
	return nil, "", ErrBusy
}

// RemoveFinalizer removes the finalizer from a graph, whatever its current
// resource version is. A graph of the same name with another UID is left alone.
func (c *Client) RemoveFinalizer(ctx context.Context, rg *v1alpha1.ResourceGraph) error {
	var err error
	for range maxConflicts {
		var live *v1alpha1.ResourceGraph
		if live, err = c.Get(ctx, Key(rg)); err != nil || live.UID != rg.UID {
			return err
		}
		if _, err = c.setFinalizer(ctx, live, false, ""); !apierrors.IsConflict(err) {
			return err
		}
	}
	return err
}

// setFinalizer adds or removes the finalizer if the graph wasn't changed since it
// was read. It returns the new resource version.
func (c *Client) setFinalizer(ctx context.Context, rg *v1alpha1.ResourceGraph, add bool, cluster string) (string, error) {
	kept := []string{}
	for _, f := range rg.Finalizers {
		if f != v1alpha1.Finalizer {
			kept = append(kept, f)
		}
	}
	if add {
		kept = append(kept, v1alpha1.Finalizer)
	}
	metadata := map[string]any{"uid": rg.UID, "resourceVersion": rg.ResourceVersion, "finalizers": kept}
	if cluster != "" {
		metadata["annotations"] = map[string]any{v1alpha1.AnnotationCluster: cluster}
	}
	return c.patch(ctx, Key(rg), map[string]any{"metadata": metadata})
}
