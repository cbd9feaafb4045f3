package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// FindServed is [Kinds.Find] for a kind whose version may not be served any more: it
// then returns the kind in another version, beginning with the one that the cluster
// prefers, together with that version.
//
// The error is a [*NoKindError] only if the cluster serves no version and no
// CustomResourceDefinition defines the kind, as far as the identity may read that. If
// the objects of the kind may exist nevertheless, it is an [*UnavailableKindError].
func (k *Kinds) FindServed(ctx context.Context, gvk schema.GroupVersionKind) (Kind, schema.GroupVersionKind, error) {
	kind, err := k.Find(ctx, gvk)
	var noKind *NoKindError
	if !errors.As(err, &noKind) || gvk.Group == "" { // the core group has one version
		return kind, gvk, err
	}
	versions, err := k.servedVersions(ctx, gvk.Group)
	if err != nil {
		return Kind{}, gvk, unavailable(gvk, err)
	}
	for _, version := range versions {
		other := gvk.GroupKind().WithVersion(version)
		kind, err := k.Find(ctx, other)
		if err == nil || !errors.As(err, &noKind) {
			return kind, other, err
		}
	}
	definition, err := k.defining(ctx, gvk.GroupKind())
	switch {
	case err != nil:
		return Kind{}, gvk, unavailable(gvk, err)
	case definition == nil:
		return Kind{}, gvk, &NoKindError{gvk}
	case definition.served():
		return Kind{}, gvk, &UnavailableKindError{gvk, errors.New("its CustomResourceDefinition exists, and isn't served yet")}
	}
	return Kind{}, gvk, &UnavailableKindError{gvk, errors.New("its CustomResourceDefinition exists, and serves no version")}
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
	return preferredFirst(found), nil
}

// preferredFirst returns the versions of a group, the preferred one first.
func preferredFirst(group metav1.APIGroup) []string {
	versions := []string{group.PreferredVersion.Version}
	for _, v := range group.Versions {
		if v.Version != versions[0] {
			versions = append(versions, v.Version)
		}
	}
	return versions
}
