package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/applier/engine"
)

// ListDeletable returns every kind that can be listed and deleted, sorted. The version is
// the one that the cluster prefers, or the first other one that has the kind. It bypasses
// the cache. Callers use it to search a cluster for the objects of a graph whose inventory
// is lost. With groups, only these API groups count.
//
// API groups that can't be discovered, for example because an aggregated API server is
// down, don't hide the kinds of others. They are returned, too: their objects may exist.
// So are groups with a CustomResourceDefinition that serves no version, as far as the
// identity may read the definitions.
func (k *Kinds) ListDeletable(ctx context.Context, groups ...string) (kinds []schema.GroupVersionKind, undiscovered []engine.Unsearched, err error) {
	versions, err := retrySearch(ctx, func() ([][]schema.GroupVersion, error) { return k.groupVersions(ctx, groups) })
	if err != nil {
		return nil, nil, fmt.Errorf("reading the API groups: %w", err)
	}
	var (
		mu sync.Mutex
		g  errgroup.Group
		// served are the resources that were discovered.
		served = map[schema.GroupResource]bool{}
	)
	g.SetLimit(concurrency)
	for _, group := range versions {
		g.Go(func() error {
			found, err := k.discoverGroup(ctx, group)
			if err != nil && !isLimited(ctx, group[0], err) {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				undiscovered = append(undiscovered, unsearched(group[0].Group, err))
			}
			for gvk, kind := range found {
				served[kind.Resource.GroupResource()] = true
				if slices.Contains(kind.Verbs, "list") && slices.Contains(kind.Verbs, "delete") {
					kinds = append(kinds, gvk)
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	undiscovered, err = k.addUnserved(ctx, undiscovered, served, groups)
	slices.SortFunc(kinds, func(a, b schema.GroupVersionKind) int { return cmp.Compare(a.String(), b.String()) })
	slices.SortFunc(undiscovered, func(a, b engine.Unsearched) int { return cmp.Compare(a.Group, b.Group) })
	return kinds, undiscovered, err
}

// discoverGroup returns the kinds of the versions of a group, each in the first version
// that has it. With an error, these are the kinds of the versions before the failed one.
func (k *Kinds) discoverGroup(ctx context.Context, versions []schema.GroupVersion) (map[schema.GroupVersionKind]Kind, error) {
	found, names := map[schema.GroupVersionKind]Kind{}, map[string]bool{}
	for _, gv := range versions {
		kinds, err := retrySearch(ctx, func() (map[string]Kind, error) { return k.discover(ctx, gv) })
		if err != nil {
			return found, err
		}
		for name, kind := range kinds {
			if !names[name] {
				names[name], found[gv.WithKind(name)] = true, kind
			}
		}
	}
	return found, nil
}

// isLimited reports whether an error concerns only one API group: the API server
// answered with it, or the group's own server didn't answer. The core group is that of
// the API server itself.
func isLimited(ctx context.Context, gv schema.GroupVersion, err error) bool {
	return gv.Group != "" && ctx.Err() == nil && ConcernsKind(err)
}

func unsearched(group string, err error) engine.Unsearched {
	return engine.Unsearched{Group: group, Reason: Classify(err).Message}
}

// groupVersions returns the versions of each API group, the preferred one first,
// beginning with v1 of the core group. If groups isn't empty, it has only these.
func (k *Kinds) groupVersions(ctx context.Context, groups []string) ([][]schema.GroupVersion, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	raw, err := ResponseBody(k.rest.Get().AbsPath("/apis").Do(ctx))
	if err != nil {
		return nil, err
	}
	var served metav1.APIGroupList
	if err := json.Unmarshal(raw, &served); err != nil {
		return nil, err
	}
	all := [][]schema.GroupVersion{{{Version: "v1"}}}
	for _, g := range served.Groups {
		var versions []schema.GroupVersion
		for _, version := range preferredFirst(g) {
			versions = append(versions, schema.GroupVersion{Group: g.Name, Version: version})
		}
		all = append(all, versions)
	}
	return slices.DeleteFunc(all, func(versions []schema.GroupVersion) bool {
		return len(groups) > 0 && !slices.Contains(groups, versions[0].Group)
	}), nil
}

// FindByLabels returns all objects that a label selector selects, of every kind
// that can be listed and deleted and in every namespace. It sends at least one
// request for each kind that the cluster serves. With groups, it searches only these
// API groups.
//
// If the identity may not list a namespaced kind in all namespaces, only the
// given namespace is searched. Kinds that it may not list at all are left out. API
// groups in which a request fails are returned as unsearched: their objects aren't
// complete.
func (c *Client) FindByLabels(ctx context.Context, selector, namespace string, groups ...string) (found []*unstructured.Unstructured, missed []engine.Unsearched, err error) {
	all, missed, err := c.kinds.ListDeletable(ctx, groups...)
	if err != nil {
		return nil, nil, err
	}
	var (
		mu   sync.Mutex
		seen = map[types.UID]bool{} // an object may be served by two groups
	)
	// Other errors end the search: a list that lacks objects would be taken for
	// complete, and the missing objects would stay in the cluster for good.
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(concurrency)
	for _, gvk := range all {
		g.Go(func() error {
			objects, err := retrySearch(ctx, func() ([]*unstructured.Unstructured, error) {
				return c.findKindByLabels(ctx, gvk, selector, namespace)
			})
			if err != nil && !isLimited(ctx, gvk.GroupVersion(), err) {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil && !slices.ContainsFunc(missed, func(u engine.Unsearched) bool { return u.Group == gvk.Group }) {
				missed = append(missed, unsearched(gvk.Group, err))
			}
			for _, obj := range objects {
				if !seen[obj.GetUID()] {
					seen[obj.GetUID()] = true
					found = append(found, obj)
				}
			}
			return nil
		})
	}
	err = g.Wait()
	return found, missed, err
}

// findKindByLabels is [Client.FindByLabels] for one kind.
func (c *Client) findKindByLabels(ctx context.Context, gvk schema.GroupVersionKind, selector, namespace string) ([]*unstructured.Unstructured, error) {
	kind, err := c.kinds.Find(ctx, gvk)
	var notServed *NoKindError
	if errors.As(err, &notServed) {
		return nil, nil // its CRD was deleted meanwhile, and its objects with it
	}
	if err != nil {
		return nil, err
	}
	objects, err := c.listWithoutWarnings(ctx, kind, gvk, "", selector)
	if apierrors.IsForbidden(err) && kind.Namespaced {
		objects, err = c.listWithoutWarnings(ctx, kind, gvk, namespace, selector)
	}
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return nil, nil // no objects that this identity could delete
	}
	return objects, err
}

// listWithoutWarnings lists all pages and drops the warnings of the API server:
// a search through all kinds would warn about every deprecated kind, although the
// graph uses none of them.
func (c *Client) listWithoutWarnings(ctx context.Context, kind Kind, gvk schema.GroupVersionKind, namespace, selector string) ([]*unstructured.Unstructured, error) {
	var found []*unstructured.Unstructured
	path := address{gvk: gvk, kind: kind, namespace: namespace}.collectionPath()
	for next := ""; ; {
		var list unstructured.UnstructuredList
		err := func() error {
			ctx, cancel := context.WithTimeout(ctx, requestTimeout)
			defer cancel()
			return c.rest.Get().AbsPath(path...).WarningHandler(rest.NoWarnings{}).
				Param("labelSelector", selector).Param("limit", strconv.Itoa(pageSize)).Param("continue", next).
				Do(ctx).Into(&list)
		}()
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
