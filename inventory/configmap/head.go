package configmap

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/inventory"
)

// headTries is how often a head is sent to a server that claims a conflict
// where there is none.
const headTries = 3

// saveHead makes the head, or gives it other data, unless somebody else did.
func (w *writer) saveHead(ctx context.Context, data map[string]string) error {
	var err error
	for range headTries {
		var stored *corev1.ConfigMap
		if stored, err = w.sendHead(ctx, data); err == nil {
			w.found(stored)
			return nil
		}
		if !w.conflict(err) {
			w.held.tried = append(slices.Clone(w.held.tried), checksum(data))
			return fmt.Errorf("inventory of %s: writing its ConfigMap: %w", w.owner, err)
		}
		done, lookErr := w.look(ctx, data)
		if done || lookErr != nil {
			return lookErr
		}
	}
	return fmt.Errorf("inventory of %s: writing its ConfigMap: %w", w.owner, err)
}

// headPatch is a change of a head that fails if it isn't what it was.
type headPatch struct {
	Metadata patchMeta          `json:"metadata"`
	Data     map[string]*string `json:"data"`
}

type patchMeta struct {
	UID             types.UID         `json:"uid"`
	ResourceVersion string            `json:"resourceVersion"`
	Labels          map[string]string `json:"labels"`
}

func (w *writer) sendHead(ctx context.Context, data map[string]string) (*corev1.ConfigMap, error) {
	name, labels := headName(w.owner), labelsOf(w.owner, isHead)
	if !w.held.exists() {
		return w.store.create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.owner.Namespace, Labels: labels},
			Data:       data,
		})
	}
	patch := headPatch{patchMeta{w.held.uid, w.held.version, labels}, map[string]*string{keyInventory: nil, keyParts: nil}}
	for key, value := range data {
		patch.Data[key] = &value
	}
	return w.store.patch(ctx, w.owner.Namespace, name, patch)
}

// conflict says whether an error may mean that the head isn't what it was.
func (w *writer) conflict(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || w.held.exists() && apierrors.IsNotFound(err)
}

// look finds out what a conflict was about. The head may be as it is to be,
// because the answer to an earlier request was lost; then all is done. It may be
// as it was, or as such a request made it, and can be sent again. Otherwise
// somebody else was here. Where the head is to be removed, data is nil.
func (w *writer) look(ctx context.Context, data map[string]string) (done bool, err error) {
	live, err := w.store.get(ctx, w.owner.Namespace, headName(w.owner))
	switch {
	case apierrors.IsNotFound(err) && !w.held.exists():
		return false, nil
	case apierrors.IsNotFound(err):
		return false, &ConflictError{w.owner}
	case err != nil:
		return false, fmt.Errorf("inventory of %s: reading its ConfigMap: %w", w.owner, err)
	case live.Labels[v1alpha1.LabelInventory] != isHead:
		return false, fmt.Errorf("%s: it is in the place of an inventory, and has no label %s=%s", nameOf(live), v1alpha1.LabelInventory, isHead)
	case w.held.exists() && live.UID != w.held.uid:
		return false, &ConflictError{w.owner}
	case data != nil && maps.Equal(live.Data, data):
		w.found(live)
		return true, nil
	case live.ResourceVersion == w.held.version:
		return false, nil
	case slices.Contains(w.held.tried, checksum(live.Data)):
		w.found(live)
		return false, nil
	}
	return false, &ConflictError{w.owner}
}

// checksum tells heads apart by their data.
func checksum(data map[string]string) string {
	return inventory.Checksum(fmt.Appendf(nil, "%q", data))
}

func (w *writer) found(head *corev1.ConfigMap) {
	w.held.uid, w.held.version, w.held.tried = head.UID, head.ResourceVersion, nil
}
