package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// Kinds is a cache of the kinds that a cluster serves. It discovers one group
// version at a time: when one of its kinds is first needed, and again whenever a
// kind is needed that it didn't have, because CustomResourceDefinitions are
// created while the program runs. (client-go's discovery reads all groups and
// registers every built-in type at start-up; a graph needs few of them.)
//
// Kinds is safe for concurrent use.
type Kinds struct {
	rest rest.Interface

	mu       sync.Mutex // guards versions; never held during a request
	versions map[schema.GroupVersion]*groupVersionKinds
}

// groupVersionKinds holds the kinds of one group version. mu is held during
// discovery, so that concurrent callers wait for one request instead of sending
// their own.
type groupVersionKinds struct {
	mu    sync.Mutex
	kinds map[string]Kind
}

// Kind describes how the objects of a kind are requested.
type Kind struct {
	Resource schema.GroupVersionResource
	// Namespaced is false for cluster-scoped kinds.
	Namespaced bool
	// Verbs are the verbs that the API server supports for the kind, regardless of
	// the rights of the client.
	Verbs []string
}

// NoKindError is returned for a kind that the cluster doesn't serve.
type NoKindError struct{ GVK schema.GroupVersionKind }

// Error names the usual cause, a CustomResourceDefinition that isn't installed.
func (e *NoKindError) Error() string {
	return fmt.Sprintf("the cluster knows no %s of %s (is its CustomResourceDefinition installed?)", e.GVK.Kind, e.GVK.GroupVersion())
}

// NewKinds returns an empty cache for the cluster of a REST client.
func NewKinds(r rest.Interface) *Kinds {
	return &Kinds{rest: r, versions: map[schema.GroupVersion]*groupVersionKinds{}}
}

// Find returns a kind from the cache, or discovers its group version. The error
// is a [*NoKindError] if the cluster doesn't serve the kind.
func (k *Kinds) Find(ctx context.Context, gvk schema.GroupVersionKind) (Kind, error) {
	k.mu.Lock()
	served := k.versions[gvk.GroupVersion()]
	if served == nil {
		served = &groupVersionKinds{}
		k.versions[gvk.GroupVersion()] = served
	}
	k.mu.Unlock()

	served.mu.Lock()
	defer served.mu.Unlock()
	if kind, ok := served.kinds[gvk.Kind]; ok {
		return kind, nil
	}
	kinds, err := k.discover(ctx, gvk.GroupVersion())
	if err != nil {
		return Kind{}, err
	}
	served.kinds = kinds
	if len(kinds) == 0 {
		// Don't keep group versions that don't exist: their number is unbounded.
		k.Invalidate(gvk.GroupVersion())
	}
	if kind, ok := kinds[gvk.Kind]; ok {
		return kind, nil
	}
	return Kind{}, &NoKindError{gvk}
}

// FindServed is [Kinds.Find] for a kind whose version may not be served any more: it
// then returns the kind in another version, beginning with the one that the cluster
// prefers, together with that version.
func (k *Kinds) FindServed(ctx context.Context, gvk schema.GroupVersionKind) (Kind, schema.GroupVersionKind, error) {
	kind, err := k.Find(ctx, gvk)
	var noKind *NoKindError
	if !errors.As(err, &noKind) || gvk.Group == "" { // the core group has one version
		return kind, gvk, err
	}
	versions, err := k.servedVersions(ctx, gvk.Group)
	if err != nil {
		return Kind{}, gvk, err
	}
	for _, version := range versions {
		other := gvk.GroupKind().WithVersion(version)
		kind, err := k.Find(ctx, other)
		if err == nil || !errors.As(err, &noKind) {
			return kind, other, err
		}
	}
	return Kind{}, gvk, &NoKindError{gvk}
}

// servedVersions returns the versions of an API group, the preferred one first. A
// group that the cluster doesn't serve has none.
func (k *Kinds) servedVersions(ctx context.Context, group string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	raw, err := ResponseBody(k.rest.Get().AbsPath("/apis/" + group).Do(ctx))
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading the versions of %s: %w", group, err)
	}
	var found metav1.APIGroup
	if err := json.Unmarshal(raw, &found); err != nil {
		return nil, fmt.Errorf("reading the versions of %s: %w", group, err)
	}
	versions := []string{found.PreferredVersion.Version}
	for _, v := range found.Versions {
		if v.Version != versions[0] {
			versions = append(versions, v.Version)
		}
	}
	return versions, nil
}

// Cached returns a kind if it is in the cache. It sends no request.
func (k *Kinds) Cached(gvk schema.GroupVersionKind) (Kind, bool) {
	k.mu.Lock()
	served := k.versions[gvk.GroupVersion()]
	k.mu.Unlock()
	if served == nil {
		return Kind{}, false
	}
	served.mu.Lock()
	defer served.mu.Unlock()
	kind, ok := served.kinds[gvk.Kind]
	return kind, ok
}

// Invalidate removes a group version from the cache, so that the next Find
// discovers it again.
func (k *Kinds) Invalidate(gv schema.GroupVersion) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.versions, gv)
}

// discover requests the kinds of a group version. A group version that the
// cluster doesn't serve has no kinds and is no error.
func (k *Kinds) discover(ctx context.Context, gv schema.GroupVersion) (map[string]Kind, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	path := "/apis/" + gv.String()
	if gv.Group == "" {
		path = "/api/" + gv.Version
	}
	raw, err := ResponseBody(k.rest.Get().AbsPath(path).Do(ctx))
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading the kinds of %s: %w", gv, err)
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("reading the kinds of %s: %w", gv, err)
	}
	return readableKinds(gv, list.APIResources), nil
}

// readableKinds returns the kinds of resources by name. Subresources and
// resources that can't be read, such as reviews, aren't objects and are left out.
func readableKinds(gv schema.GroupVersion, resources []metav1.APIResource) map[string]Kind {
	kinds := make(map[string]Kind, len(resources))
	for _, r := range resources {
		if strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "get") {
			continue
		}
		kinds[r.Kind] = Kind{gv.WithResource(r.Name), r.Namespaced, r.Verbs}
	}
	return kinds
}

// ListDeletable returns every kind that can be listed and deleted, in the version
// that the cluster prefers, sorted. It bypasses the cache. Callers use it to
// search a cluster for the objects of a graph whose inventory is lost.
//
// An aggregated API that doesn't answer is left out: its objects can't be
// reached anyway, and it must not hide those of other APIs.
func (k *Kinds) ListDeletable(ctx context.Context) ([]schema.GroupVersionKind, error) {
	versions, err := k.preferredVersions(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the API groups: %w", err)
	}
	var all []schema.GroupVersionKind
	for _, gv := range versions {
		kinds, err := k.discover(ctx, gv)
		if err != nil {
			continue
		}
		for name, kind := range kinds {
			if slices.Contains(kind.Verbs, "list") && slices.Contains(kind.Verbs, "delete") {
				all = append(all, gv.WithKind(name))
			}
		}
	}
	slices.SortFunc(all, func(a, b schema.GroupVersionKind) int { return cmp.Compare(a.String(), b.String()) })
	return all, nil
}

// preferredVersions returns one version of each API group, beginning with v1 of
// the core group.
func (k *Kinds) preferredVersions(ctx context.Context) ([]schema.GroupVersion, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	raw, err := ResponseBody(k.rest.Get().AbsPath("/apis").Do(ctx))
	if err != nil {
		return nil, err
	}
	var groups metav1.APIGroupList
	if err := json.Unmarshal(raw, &groups); err != nil {
		return nil, err
	}
	versions := []schema.GroupVersion{{Version: "v1"}}
	for _, g := range groups.Groups {
		gv, err := schema.ParseGroupVersion(g.PreferredVersion.GroupVersion)
		if err != nil {
			return nil, err
		}
		versions = append(versions, gv)
	}
	return versions, nil
}
