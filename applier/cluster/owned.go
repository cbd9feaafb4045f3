package cluster

import (
	"context"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// FindByLabels finds every object that carries certain labels, whatever its kind and
// wherever it is: one request for each kind that the cluster serves. Where the
// identity may not look at all namespaces, it looks at the given one; kinds that
// it may not list at all are passed over.
func (c *Client) FindByLabels(ctx context.Context, selector, namespace string) ([]*unstructured.Unstructured, error) {
	all, err := c.kinds.ListDeletable(ctx)
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
	objects, err := c.listQuietly(ctx, kind, gvk, "", selector)
	if apierrors.IsForbidden(err) && kind.Namespaced {
		objects, err = c.listQuietly(ctx, kind, gvk, namespace, selector)
	}
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return nil, nil // there is none that this identity could remove
	}
	return objects, err
}

// listQuietly lists objects page by page, without the server's warnings: of kinds
// that are deprecated, nobody is to be told who doesn't use them.
func (c *Client) listQuietly(ctx context.Context, kind Kind, gvk schema.GroupVersionKind, namespace, selector string) ([]*unstructured.Unstructured, error) {
	var found []*unstructured.Unstructured
	at := path(address{gvk: gvk, kind: kind, namespace: namespace})
	for next := ""; ; {
		var list unstructured.UnstructuredList
		err := Retry(ctx, func() error {
			ctx, cancel := context.WithTimeout(ctx, requestTimeout)
			defer cancel()
			return c.rest.Get().AbsPath(at[:len(at)-1]...).WarningHandler(rest.NoWarnings{}).
				Param("labelSelector", selector).Param("limit", strconv.Itoa(page)).Param("continue", next).
				Do(ctx).Into(&list)
		})
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			found = append(found, &list.Items[i])
		}
		if next = list.GetContinue(); next == "" {
			return found, nil
		}
	}
}
