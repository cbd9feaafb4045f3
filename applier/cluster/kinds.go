package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

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

// groupVersionKinds holds the kinds of one group version. discovery is held during
// discovery, so that concurrent callers wait for one request instead of sending
// their own. Known kinds are looked up without it: a cluster may take long to answer.
type groupVersionKinds struct {
	discovery sync.Mutex
	kinds     atomic.Pointer[map[string]Kind] // nil before the first discovery
}

// kind returns a kind that is known.
func (s *groupVersionKinds) kind(name string) (kind Kind, known bool) {
	if kinds := s.kinds.Load(); kinds != nil {
		kind, known = (*kinds)[name]
	}
	return kind, known
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

// NewKinds returns an empty cache for the cluster of a REST client.
func NewKinds(r rest.Interface) *Kinds {
	return &Kinds{rest: r, versions: map[schema.GroupVersion]*groupVersionKinds{}}
}

// Find returns a kind from the cache, or discovers its group version. The error
// is a [*NoKindError] if the cluster doesn't serve the kind, and an
// [*UnavailableKindError] if the API server can't tell.
func (k *Kinds) Find(ctx context.Context, gvk schema.GroupVersionKind) (Kind, error) {
	k.mu.Lock()
	served := k.versions[gvk.GroupVersion()]
	if served == nil {
		served = &groupVersionKinds{}
		k.versions[gvk.GroupVersion()] = served
	}
	k.mu.Unlock()

	if kind, ok := served.kind(gvk.Kind); ok {
		return kind, nil
	}
	served.discovery.Lock()
	defer served.discovery.Unlock()
	if kind, ok := served.kind(gvk.Kind); ok {
		return kind, nil
	}
	kinds, err := k.discover(ctx, gvk.GroupVersion())
	if err != nil {
		return Kind{}, unavailable(gvk, err)
	}
	served.kinds.Store(&kinds)
	if len(kinds) == 0 {
		// Don't keep group versions that don't exist: their number is unbounded.
		k.Invalidate(gvk.GroupVersion())
	}
	if kind, ok := kinds[gvk.Kind]; ok {
		return kind, nil
	}
	return Kind{}, &NoKindError{gvk}
}

// Await is [Kinds.Find] for callers that don't ask again later. If a
// CustomResourceDefinition defines the kind in this version, Await waits some seconds for
// the cluster to serve it: discovery lags behind the condition Established.
func (k *Kinds) Await(ctx context.Context, gvk schema.GroupVersionKind) (Kind, error) {
	kind, err := k.Find(ctx, gvk)
	if !isNoKind(err) || gvk.Group == "" {
		return kind, err
	}
	// Without the definition, the kind is as unknown as Find has found it.
	definition, unreadable := k.defining(ctx, gvk.GroupKind())
	if unreadable != nil || definition == nil || !slices.Contains(definition.Spec.Versions, definedVersion{gvk.Version, true}) {
		return kind, err
	}
	err = RetryIf(ctx, minPause, func(err error) (time.Duration, bool) { return 0, isNoKind(err) }, func() (err error) {
		kind, err = k.Find(ctx, gvk)
		return err
	})
	return kind, err
}

// Cached returns a kind if it is in the cache. It neither sends a request nor waits for one.
func (k *Kinds) Cached(gvk schema.GroupVersionKind) (Kind, bool) {
	k.mu.Lock()
	served := k.versions[gvk.GroupVersion()]
	k.mu.Unlock()
	if served == nil {
		return Kind{}, false
	}
	return served.kind(gvk.Kind)
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
