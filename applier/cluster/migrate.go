package cluster

import (
	"context"
	"errors"
	"strings"

	"github.com/fluxcd/pkg/ssa"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/applier/fields"
)

// ErrOutdatedManagers is returned by a dry run of an apply that needs the managedFields
// of the object to be migrated first, which a dry run doesn't do.
var ErrOutdatedManagers = &engine.Failure{
	Reason: engine.ReasonInvalid, Terminal: true,
	Message: "other field managers wrote the object in an older API version, which an apply migrates first",
}

// isOutdatedManagers reports whether an apply failed because of the API version in which
// a field manager wrote the object. To compare, the API server converts the object to
// the version of every manager. It refuses a field that this version lacks, usually
// because a newer version sets it by default, and a version that the
// CustomResourceDefinition lacks:
//
//	.spec.policy: field not declared in schema
//	request to convert CR to an invalid group/version: example.com/v1
//
// The same words after "failed to create typed patch object" are about a mistake in the
// applied object itself.
func isOutdatedManagers(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	message := status.Status().Message
	return (strings.Contains(message, "field not declared in schema") || strings.Contains(message, "request to convert CR to an invalid group/version")) &&
		!untypedText().MatchString(message) && !deniedText().MatchString(message)
}

// prepareManagers rewrites the managedFields of the live object before an apply and
// returns the object. If the graph adopts the object, the fields of predecessors move to
// its manager, so that the apply removes unwanted ones. If outdated is set, an apply failed
// because of the API versions of managers, and these are migrated.
func (c *Client) prepareManagers(ctx context.Context, a address, want *engine.ApplyRequest, outdated bool) (*unstructured.Unstructured, error) {
	if outdated && c.DryRun {
		return nil, ErrOutdatedManagers
	}
	live, err := c.get(ctx, a)
	switch {
	case err != nil:
		return nil, err
	case live == nil || live.GetUID() != want.UID:
		return nil, errReplaced
	case !outdated && !want.Adopt && !want.HandOverReplicas:
		return live, nil
	}
	migrated, err := c.migrate(ctx, a, live, outdated)
	if err != nil {
		return nil, err
	}
	moved, err := takeOver(live, want.Manager, func(manager string) bool { return want.Adopt && predecessorsOf(a.gvk.Group)(manager) })
	if err != nil || !migrated && !moved {
		return live, err
	}
	patch := []jsonPatchOperation{
		{"replace", "/metadata/resourceVersion", live.GetResourceVersion()}, // a write in between is a conflict
		{"replace", "/metadata/managedFields", live.GetManagedFields()},
	}
	live, _, err = c.patch(ctx, a, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: engine.FieldManager})
	return live, err
}

// migrate rewrites the managedFields of all managers of an object to the API version of
// its address if outdated is set or if one of their versions isn't served any more: the
// API server then loses changes of managedFields (https://github.com/kubernetes/kubernetes/issues/111937).
// It is a repair, and not done otherwise: a field that is named differently in the two
// versions loses its owner. migrate reports whether it changed the object.
func (c *Client) migrate(ctx context.Context, a address, obj *unstructured.Unstructured, outdated bool) (bool, error) {
	for _, entry := range fields.Entries(obj) {
		former := schema.FromAPIVersionAndKind(entry.APIVersion, a.gvk.Kind)
		if outdated || former == a.gvk {
			continue
		}
		c.kinds.Invalidate(former.GroupVersion()) // it may have been served when the kind was discovered
		_, err := c.kinds.Find(ctx, former)
		outdated = isNoKind(err)
	}
	if !outdated {
		return false, nil
	}
	patch, err := ssa.PatchMigrateToVersion(obj, a.gvk.GroupVersion().String())
	if err != nil || len(patch) == 0 {
		return false, err
	}
	obj.SetManagedFields(patch[0].Value)
	return true, nil
}
