package cluster

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Owned finds every object that carries certain labels, whatever its kind and
// wherever it is: one request for each kind that the cluster serves. Where the
// identity may not look at all namespaces, it looks at the given one; kinds that
// it may not list at all are passed over.
func (c *Client) Owned(ctx context.Context, selector, namespace string) ([]*unstructured.Unstructured, error) {
	all, err := c.kinds.All(ctx)
	if err != nil {
		return nil, err
	}
	var (
		mu    sync.Mutex
		found []*unstructured.Unstructured
		seen  = map[types.UID]bool{} // some kinds are served by two groups
		g     errgroup.Group
	)
	g.SetLimit(concurrency)
	for _, gvk := range all {
		g.Go(func() error {
			objects, err := c.ownedOf(ctx, gvk, selector, namespace)
			mu.Lock()
			defer mu.Unlock()
			for _, obj := range objects {
				if !seen[obj.GetUID()] {
					seen[obj.GetUID()] = true
					found = append(found, obj)
				}
			}
			return err
		})
	}
	return found, g.Wait()
}

func (c *Client) ownedOf(ctx context.Context, gvk schema.GroupVersionKind, selector, namespace string) ([]*unstructured.Unstructured, error) {
	kind, err := c.kinds.Find(ctx, gvk)
	if err != nil {
		return nil, err
	}
	var s *surveyor
	list := func(namespace string) error {
		return Retry(ctx, func() error {
			s = &surveyor{c: c, kind: kind, gvk: gvk, namespace: namespace, seen: map[string]bool{}}
			return s.list(ctx, selector)
		})
	}
	err = list("")
	if apierrors.IsForbidden(err) && kind.Namespaced {
		err = list(namespace)
	}
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return nil, nil // there is none that this identity could remove
	}
	return s.found, err
}
