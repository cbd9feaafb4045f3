package graphs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// ErrSuperseded means that another process has written the inventory in a
// graph's status, for example pequod apply. The graph has to be read again
// before anything else is done for it.
var ErrSuperseded = errors.New("another process has changed the inventory since it was read")

// WriteStatus changes the status of a graph from stored, which it had at a
// resource version, to next. It returns the new resource version.
//
// If the graph was changed since, the write is repeated with the status that it
// has now, unless the inventory was changed: then the error is [ErrSuperseded].
func (c *Client) WriteStatus(
	ctx context.Context, rg *v1alpha1.ResourceGraph, version string, stored, next *v1alpha1.ResourceGraphStatus,
) (string, error) {
	from := stored
	for range maxConflicts {
		patch, err := mergePatch(from, next)
		if err != nil {
			return "", err
		}
		written, err := c.patch(ctx, Key(rg), map[string]any{
			"metadata": map[string]any{"uid": rg.UID, "resourceVersion": version},
			"status":   patch,
		}, "status")
		if !apierrors.IsConflict(err) {
			return written, err
		}
		live, err := c.Get(ctx, Key(rg))
		if err != nil {
			return "", err
		}
		// It may be next already if the answer to an earlier write was lost.
		if live.UID != rg.UID || !sameJSON(live.Status.Inventory, from.Inventory) && !sameJSON(live.Status.Inventory, next.Inventory) {
			return "", ErrSuperseded
		}
		from, version = &live.Status, live.ResourceVersion
	}
	return "", ErrBusy
}

// mergePatch returns the JSON merge patch from one status to another.
func mergePatch(from, to *v1alpha1.ResourceGraphStatus) (json.RawMessage, error) {
	a, err := json.Marshal(from)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(to)
	if err != nil {
		return nil, err
	}
	return jsonpatch.CreateMergePatch(a, b)
}

// SameStatus reports whether two statuses are stored alike.
func SameStatus(a, b *v1alpha1.ResourceGraphStatus) bool {
	// Equal values, the usual case, are found without encoding them. Others may be stored
	// alike nevertheless, for example without fractions of seconds.
	return equality.Semantic.DeepEqual(a, b) || sameJSON(a, b)
}

func sameJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
