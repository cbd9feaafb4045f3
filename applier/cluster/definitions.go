package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/applier/engine"
)

// definitions is the path of all CustomResourceDefinitions.
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// defining returns the CustomResourceDefinition of a kind. It is nil if there is none, or
// if the identity may not read the definitions.
//
// Only those of the group are read as a whole.
func (k *Kinds) defining(ctx context.Context, gk schema.GroupKind) (*definition, error) {
	defined, err := k.definedResources(ctx)
	if err != nil {
		return nil, err
	}
	for _, resource := range defined {
		if resource.Group != gk.Group {
			continue
		}
		switch definition, err := k.definition(ctx, resource); {
		case err != nil:
			return nil, err
		case definition != nil && definition.Spec.Names.Kind == gk.Kind:
			return definition, nil
		}
	}
	return nil, nil
}

// addUnserved adds to undiscovered the groups that have a CustomResourceDefinition
// without a served version: their objects can't be searched. Served are the resources
// that were discovered. If groups isn't empty, it leaves out all other groups.
func (k *Kinds) addUnserved(
	ctx context.Context, undiscovered []engine.Unsearched, served map[schema.GroupResource]bool, groups []string,
) ([]engine.Unsearched, error) {
	defined, err := retrySearch(ctx, func() ([]schema.GroupResource, error) { return k.definedResources(ctx) })
	if err != nil {
		return undiscovered, err
	}
	for _, resource := range defined {
		known := slices.ContainsFunc(undiscovered, func(u engine.Unsearched) bool { return u.Group == resource.Group })
		if known || served[resource] || len(groups) > 0 && !slices.Contains(groups, resource.Group) {
			continue
		}
		definition, err := retrySearch(ctx, func() (*definition, error) { return k.definition(ctx, resource) })
		if err != nil {
			return undiscovered, err
		}
		// Otherwise it was created or deleted meanwhile, or its names are taken.
		if definition != nil && !definition.served() {
			undiscovered = append(undiscovered, engine.Unsearched{
				Group: resource.Group, Reason: "CustomResourceDefinition " + resource.String() + " serves no version",
			})
		}
	}
	return undiscovered, nil
}

// definition is the part of a CustomResourceDefinition that is used here.
type definition struct {
	Spec struct {
		Names    struct{ Kind string }
		Versions []definedVersion
	}
}

// definedVersion is a version of a CustomResourceDefinition.
type definedVersion struct {
	Name   string
	Served bool
}

// served reports whether any version is served.
func (d *definition) served() bool {
	return slices.ContainsFunc(d.Spec.Versions, func(v definedVersion) bool { return v.Served })
}

// definition reads the definition of a resource. It is nil if there is none, or if the
// identity may not read it.
func (k *Kinds) definition(ctx context.Context, resource schema.GroupResource) (*definition, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	raw, err := ResponseBody(k.rest.Get().AbsPath(definitions, resource.String()).Do(ctx))
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return nil, nil
	}
	found := &definition{}
	if err == nil {
		err = json.Unmarshal(raw, found)
	}
	if err != nil {
		return nil, fmt.Errorf("reading CustomResourceDefinition %s: %w", resource, err)
	}
	return found, nil
}

// definedResources returns the resources that have CustomResourceDefinitions, whose
// names are those of the resources. There are none if the identity may not list them.
func (k *Kinds) definedResources(ctx context.Context) ([]schema.GroupResource, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	raw, err := ResponseBody(k.rest.Get().AbsPath(definitions).
		SetHeader("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1").Do(ctx))
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return nil, nil
	}
	var list metav1.PartialObjectMetadataList
	if err == nil {
		err = json.Unmarshal(raw, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the CustomResourceDefinitions: %w", err)
	}
	var resources []schema.GroupResource
	for _, item := range list.Items {
		resources = append(resources, schema.ParseGroupResource(item.Name))
	}
	return resources, nil
}
