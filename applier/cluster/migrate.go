package cluster

import (
	"context"
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/applier/engine"
)

// ErrOutdatedManagers is returned by a dry run of an apply that needs the managedFields
// of the object to be migrated first, which a dry run doesn't do.
var ErrOutdatedManagers = &engine.Failure{
	Reason: engine.ReasonInvalid, Terminal: true,
	Message: "other field managers wrote the object in an older API version, which an apply migrates first",
}

// isOutdatedManagers reports whether an apply failed because a field manager wrote the
// object in an API version that lacks a field which the object has by now, usually
// because a newer version sets it by default. To compare, the API server converts the
// object to the version of every manager, and refuses the field there:
//
//	.spec.policy: field not declared in schema
//
// The same words after "failed to create typed patch object" are about a mistake in the
// applied object itself.
func isOutdatedManagers(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	message := status.Status().Message
	return strings.Contains(message, "field not declared in schema") &&
		!untypedText().MatchString(message) && !deniedText().MatchString(message)
}

// migrateManagers rewrites the managedFields of all managers of an object to the API
// version of its address. It is a repair: a field that is named otherwise in the two
// versions loses its owner. Therefore it is done only when an apply has failed for it.
func (c *Client) migrateManagers(ctx context.Context, a address, uid types.UID) error {
	if c.DryRun {
		return ErrOutdatedManagers
	}
	live, err := c.get(ctx, a)
	if err != nil {
		return err
	}
	if live == nil || live.GetUID() != uid {
		return errReplaced
	}
	entries, version, outdated := live.GetManagedFields(), a.gvk.GroupVersion().String(), false
	for i := range entries {
		outdated = outdated || entries[i].APIVersion != version
		entries[i].APIVersion = version
	}
	if !outdated {
		return nil
	}
	patch := []jsonPatchOperation{
		{"replace", "/metadata/resourceVersion", live.GetResourceVersion()}, // a write in between is a conflict
		{"replace", "/metadata/managedFields", entries},
	}
	_, _, err = c.patch(ctx, a, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: engine.FieldManager})
	return err
}
