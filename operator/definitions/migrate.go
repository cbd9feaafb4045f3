package definitions

import (
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Dropped returns the versions in which objects may be stored, and that desired lacks. The API
// server refuses desired until they are removed from status.storedVersions.
func Dropped(live, desired *apiextensionsv1.CustomResourceDefinition) []string {
	var dropped []string
	for _, name := range live.Status.StoredVersions {
		if version(desired, name) == nil {
			dropped = append(dropped, name)
		}
	}
	return dropped
}

// Transitional returns desired with the dropped versions, as they are in live. Objects can be
// read in them and are stored in the version of desired.
func Transitional(live, desired *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	between := desired.DeepCopy()
	for _, name := range Dropped(live, desired) {
		if old := version(live, name); old != nil {
			kept := *old.DeepCopy()
			kept.Storage = false
			between.Spec.Versions = append(between.Spec.Versions, kept)
		}
	}
	return between
}

// version returns the version with a name, or nil.
func version(crd *apiextensionsv1.CustomResourceDefinition, name string) *apiextensionsv1.CustomResourceDefinitionVersion {
	i := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == name })
	if i < 0 {
		return nil
	}
	return &crd.Spec.Versions[i]
}

// Served returns the version for requests: the one that is stored if clients can use it, or
// else another one. The API server stores objects in the same version in both cases.
func Served(crd *apiextensionsv1.CustomResourceDefinition) string {
	name := storage(crd)
	if v := version(crd, name); v != nil && v.Served {
		return name
	}
	for _, v := range crd.Spec.Versions {
		if v.Served {
			return v.Name
		}
	}
	return name
}

// page is the number of objects that one list of [Migrate] has.
const page = 200

// Migrate rewrites all objects of a definition in the version that it stores, and then removes
// the other versions from status.storedVersions. It may be repeated from the beginning: objects
// that are stored in that version already are not written by the API server. Its client must
// read from the API server.
//
// live must have been read after the API server began to store objects in the version. The
// precondition on its resource version holds this: another storage version changes it.
func Migrate(ctx context.Context, api client.Reader, c client.Client, live *apiextensionsv1.CustomResourceDefinition) error {
	kind := schema.GroupVersionKind{Group: live.Spec.Group, Version: Served(live), Kind: live.Spec.Names.Kind}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(live.Spec.Names.ListKind))
	// Objects that are created meanwhile are stored in the new version already, so it does not
	// matter which of them a page has.
	for {
		if err := api.List(ctx, list, client.Limit(page), client.Continue(list.Continue)); apierrors.IsResourceExpired(err) {
			list.Continue = "" // the list took too long: begin again
			continue
		} else if err != nil {
			return fmt.Errorf("listing %s: %w", live.Name, err)
		}
		for i := range list.Items {
			if err := rewrite(ctx, c, kind, &list.Items[i]); err != nil {
				return err
			}
		}
		if list.Continue == "" {
			break
		}
	}
	// From here on, the API server accepts a CRD without the old versions.
	next := live.DeepCopy()
	next.Status.StoredVersions = []string{storage(live)}
	return c.Status().Patch(ctx, next, client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{}), client.FieldOwner(fieldManager))
}

// rewrite makes the API server store an object again. The patch changes nothing, so it can't
// undo what others write at the same time, and needs no resource version.
func rewrite(ctx context.Context, c client.Client, kind schema.GroupVersionKind, object *metav1.PartialObjectMetadata) error {
	object.SetGroupVersionKind(kind)
	err := c.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte("{}")), client.FieldOwner(fieldManager))
	if err = client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("rewriting %s %s: %w", kind.Kind, client.ObjectKeyFromObject(object), err)
	}
	return nil
}
