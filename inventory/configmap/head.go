package configmap

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/inventory"
)

// headTries is how often a head is sent to a server that reports a conflict
// without reason.
const headTries = 3

// mark identifies one write of a head, even among writes of the same content.
type mark string

// markOf returns the mark of the write that produced head.
func markOf(head *corev1.ConfigMap) mark {
	return mark(inventory.Checksum(fmt.Appendf(nil, "%q %q", head.Annotations[annotationWrite], head.Data)))
}

// saveHead creates the head or replaces its data. It returns a [*ConflictError]
// if another writer has changed the head since it was loaded.
//
// The answer to a write can get lost. Every write therefore carries a random
// mark, and the marks of unanswered writes are kept: if the stored head has one
// of them, the write was our own and the conflict is not one.
func (w *writer) saveHead(ctx context.Context, data map[string]string) error {
	head := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: headName(w.owner), Namespace: w.owner.Namespace, Labels: labelsOf(w.owner, isHead),
			Annotations: map[string]string{annotationWrite: strconv.FormatUint(rand.Uint64(), 36)},
		},
		Data: data,
	}
	var err error
	for range headTries {
		var stored *corev1.ConfigMap
		if stored, err = w.sendHead(ctx, head); err == nil {
			w.wrote(stored)
			return nil
		}
		w.state.tried = append(slices.Clone(w.state.tried), markOf(head))
		if !w.mayBeConflict(err) {
			break
		}
		live, err := w.resolveConflict(ctx)
		switch {
		case errors.Is(err, errGone):
			return &ConflictError{w.owner}
		case err != nil:
			return err
		}
		if live != nil && markOf(live) == markOf(head) {
			return nil
		}
	}
	return fmt.Errorf("inventory of %s: writing its ConfigMap: %w", w.owner, err)
}

// headPatch is a merge patch of a head. UID and resourceVersion make it fail if
// the head has changed since it was loaded.
type headPatch struct {
	Metadata patchMeta          `json:"metadata"`
	Data     map[string]*string `json:"data"`
}

// patchMeta is the metadata of a headPatch.
type patchMeta struct {
	UID             types.UID         `json:"uid"`
	ResourceVersion string            `json:"resourceVersion"`
	Labels          map[string]string `json:"labels"`
	Annotations     map[string]string `json:"annotations"`
}

// sendHead sends one create or patch request.
func (w *writer) sendHead(ctx context.Context, head *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	if !w.state.exists() {
		return w.store.create(ctx, head)
	}
	patch := headPatch{
		patchMeta{w.state.uid, w.state.version, head.Labels, head.Annotations},
		map[string]*string{keyInventory: nil, keyParts: nil},
	}
	for key, value := range head.Data {
		patch.Data[key] = &value
	}
	return w.store.patch(ctx, w.owner.Namespace, head.Name, patch)
}

// mayBeConflict reports whether err may mean that the head has changed since it was
// loaded.
func (w *writer) mayBeConflict(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || w.state.exists() && apierrors.IsNotFound(err)
}

// errGone means that a head that was stored no longer exists.
var errGone = errors.New("its ConfigMap is gone")

// resolveConflict finds the reason of a conflict and returns the stored head, or nil if
// there is none and none was expected.
//
// If the head is unchanged, or is the result of one of this writer's own requests
// whose answer was lost, the refused request may be sent again. In every other
// case another writer has changed the head, and resolveConflict returns a [*ConflictError].
func (w *writer) resolveConflict(ctx context.Context) (*corev1.ConfigMap, error) {
	live, err := w.store.get(ctx, w.owner.Namespace, headName(w.owner))
	switch {
	case apierrors.IsNotFound(err) && !w.state.exists():
		return nil, nil
	case apierrors.IsNotFound(err):
		return nil, errGone
	case err != nil:
		return nil, fmt.Errorf("inventory of %s: reading its ConfigMap: %w", w.owner, err)
	case live.Labels[v1alpha1.LabelInventory] != isHead:
		return nil, fmt.Errorf("%s: it is in the place of an inventory, and has no label %s=%s", nameOf(live), v1alpha1.LabelInventory, isHead)
	case live.UID == w.state.uid && live.ResourceVersion == w.state.version:
		return live, nil
	case w.state.exists() && live.UID != w.state.uid || !slices.Contains(w.state.tried, markOf(live)):
		return nil, &ConflictError{w.owner}
	}
	w.wrote(live)
	// The stored text is that of some earlier request.
	w.state.text = "" // it is that of some earlier request
	return live, nil
}

// wrote remembers the version of a head that this writer has written.
func (w *writer) wrote(head *corev1.ConfigMap) {
	w.state.uid, w.state.version, w.state.tried = head.UID, head.ResourceVersion, nil
}
