package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// Kinds knows which kinds a cluster serves. It asks by group and version, when
// a kind is first looked for and again while it isn't there: a graph holds few
// of them, and definitions come while it runs. (client-go's discovery would ask
// for all, and registers every built-in type at start-up.)
type Kinds struct {
	rest rest.Interface

	mu       sync.Mutex
	versions map[schema.GroupVersion]*served
}

// served is what one group version serves; mu is held while it is asked for.
type served struct {
	mu    sync.Mutex
	kinds map[string]Kind
}

// Kind is how a kind is reached.
type Kind struct {
	Resource   schema.GroupVersionResource
	Namespaced bool
	Verbs      []string
}

// NoKindError says that the cluster doesn't serve a kind.
type NoKindError struct{ GVK schema.GroupVersionKind }

func (e *NoKindError) Error() string {
	return fmt.Sprintf("the cluster knows no %s of %s (is its CustomResourceDefinition installed?)", e.GVK.Kind, e.GVK.GroupVersion())
}

// NewKinds returns the kinds of the cluster that a client talks to.
func NewKinds(r rest.Interface) *Kinds {
	return &Kinds{rest: r, versions: map[schema.GroupVersion]*served{}}
}

// Find finds a kind. The error is a [*NoKindError] if the cluster doesn't serve it.
func (k *Kinds) Find(ctx context.Context, gvk schema.GroupVersionKind) (Kind, error) {
	k.mu.Lock()
	s := k.versions[gvk.GroupVersion()]
	if s == nil {
		s = &served{}
		k.versions[gvk.GroupVersion()] = s
	}
	k.mu.Unlock()

	s.mu.Lock()
	defer s.mu.Unlock()
	if kind, ok := s.kinds[gvk.Kind]; ok {
		return kind, nil
	}
	kinds, err := k.ask(ctx, gvk.GroupVersion())
	if err != nil {
		return Kind{}, err
	}
	s.kinds = kinds
	if len(kinds) == 0 {
		k.Invalidate(gvk.GroupVersion()) // there is no end of what isn't there
	}
	if kind, ok := kinds[gvk.Kind]; ok {
		return kind, nil
	}
	return Kind{}, &NoKindError{gvk}
}

// Cached is what is known of a kind without asking the cluster.
func (k *Kinds) Cached(gvk schema.GroupVersionKind) (Kind, bool) {
	k.mu.Lock()
	s := k.versions[gvk.GroupVersion()]
	k.mu.Unlock()
	if s == nil {
		return Kind{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	kind, ok := s.kinds[gvk.Kind]
	return kind, ok
}

// Invalidate makes the next look at a group version a new one.
func (k *Kinds) Invalidate(gv schema.GroupVersion) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.versions, gv)
}

func (k *Kinds) ask(ctx context.Context, gv schema.GroupVersion) (map[string]Kind, error) {
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
	return kindsOf(gv, list.APIResources), nil
}

func kindsOf(gv schema.GroupVersion, resources []metav1.APIResource) map[string]Kind {
	kinds := make(map[string]Kind, len(resources))
	for _, r := range resources {
		// Subresources, and resources that can't be read, aren't objects.
		if slices.Contains([]byte(r.Name), '/') || !slices.Contains(r.Verbs, "get") {
			continue
		}
		kinds[r.Kind] = Kind{gv.WithResource(r.Name), r.Namespaced, r.Verbs}
	}
	return kinds
}

// ListDeletable lists every kind that can be listed and deleted, in the version that the
// cluster prefers: where an inventory is lost, its objects may be of any.
func (k *Kinds) ListDeletable(ctx context.Context) ([]schema.GroupVersionKind, error) {
	var groups metav1.APIGroupList
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	raw, err := ResponseBody(k.rest.Get().AbsPath("/apis").Do(ctx))
	if err == nil {
		err = json.Unmarshal(raw, &groups)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the API groups: %w", err)
	}
	versions := []schema.GroupVersion{{Version: "v1"}}
	for _, g := range groups.Groups {
		gv, err := schema.ParseGroupVersion(g.PreferredVersion.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("reading the API groups: %w", err)
		}
		versions = append(versions, gv)
	}
	var all []schema.GroupVersionKind
	for _, gv := range versions {
		kinds, err := k.ask(ctx, gv)
		if err != nil {
			// An aggregated API that is down hides only its own objects.
			continue
		}
		for name, kind := range kinds {
			if slices.Contains(kind.Verbs, "list") && slices.Contains(kind.Verbs, "delete") {
				all = append(all, gv.WithKind(name))
			}
		}
	}
	slices.SortFunc(all, func(a, b schema.GroupVersionKind) int { return compareKinds(a, b) })
	return all, nil
}

func compareKinds(a, b schema.GroupVersionKind) int {
	switch x, y := a.String(), b.String(); {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}
