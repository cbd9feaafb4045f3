package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

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
	defined, err := k.defined(ctx, gvk.GroupKind())
	switch {
	case err != nil:
		return Kind{}, gvk, unavailable(gvk, err)
	case defined:
		return Kind{}, gvk, &UnavailableKindError{gvk, errors.New("its CustomResourceDefinition exists, and serves no version")}
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

// definitions is the path of all CustomResourceDefinitions.
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// defined reports whether a CustomResourceDefinition defines a kind. It is false if the
// identity may not read the definitions.
//
// Their names end with the group, so only those of the group are read as a whole.
func (k *Kinds) defined(ctx context.Context, gk schema.GroupKind) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	raw, err := ResponseBody(k.rest.Get().AbsPath(definitions).
		SetHeader("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1").Do(ctx))
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return false, nil
	}
	var list metav1.PartialObjectMetadataList
	if err == nil {
		err = json.Unmarshal(raw, &list)
	}
	if err != nil {
		return false, fmt.Errorf("reading the CustomResourceDefinitions: %w", err)
	}
	for _, item := range list.Items {
		if !strings.HasSuffix(item.Name, "."+gk.Group) {
			continue
		}
		raw, err := ResponseBody(k.rest.Get().AbsPath(definitions, item.Name).Do(ctx))
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
			continue
		}
		var definition struct {
			Spec struct {
				Names struct{ Kind string }
			}
		}
		if err == nil {
			err = json.Unmarshal(raw, &definition)
		}
		switch {
		case err != nil:
			return false, fmt.Errorf("reading CustomResourceDefinition %s: %w", item.Name, err)
		case definition.Spec.Names.Kind == gk.Kind:
			return true, nil
		}
	}
	return false, nil
}
