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

// headTries is how often a head is sent to a server that claims a conflict
// where there is none.
const headTries = 3

// mark tells one write of a head from all others, whatever they write.
type mark string

func markOf(head *corev1.ConfigMap) mark {
	return mark(inventory.Checksum(fmt.Appendf(nil, "%q %q", head.Annotations[annotationWrite], head.Data)))
}

// saveHead makes the head, or gives it other data, unless somebody else did.
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
			w.found(stored)
			return nil
		}
		w.held.tried = append(slices.Clone(w.held.tried), markOf(head))
		if !w.conflict(err) {
			break
		}
		live, err := w.look(ctx)
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

// headPatch is a change of a head that fails if it isn't what it was.
type headPatch struct {
	Metadata patchMeta          `json:"metadata"`
	Data     map[string]*string `json:"data"`
}

type patchMeta struct {
	UID             types.UID         `json:"uid"`
	ResourceVersion string            `json:"resourceVersion"`
	Labels          map[string]string `json:"labels"`
	Annotations     map[string]string `json:"annotations"`
}

func (w *writer) sendHead(ctx context.Context, head *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	if !w.held.exists() {
		return w.store.create(ctx, head)
	}
	patch := headPatch{
		patchMeta{w.held.uid, w.held.version, head.Labels, head.Annotations},
		map[string]*string{keyInventory: nil, keyParts: nil},
	}
	for key, value := range head.Data {
		patch.Data[key] = &value
	}
	return w.store.patch(ctx, w.owner.Namespace, head.Name, patch)
}

// conflict says whether an error may mean that the head isn't what it was.
func (w *writer) conflict(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || w.held.exists() && apierrors.IsNotFound(err)
}

// errGone says that a head that was stored isn't any more.
var errGone = errors.New("its ConfigMap is gone")

// look finds out what a conflict was about, and returns the head if there is
// one. It may be as it was, or as an earlier request made it whose answer was
// lost; then what was refused can be sent again. Otherwise somebody else was
// here.
func (w *writer) look(ctx context.Context) (*corev1.ConfigMap, error) {
	live, err := w.store.get(ctx, w.owner.Namespace, headName(w.owner))
	switch {
	case apierrors.IsNotFound(err) && !w.held.exists():
		return nil, nil
	case apierrors.IsNotFound(err):
		return nil, errGone
	case err != nil:
		return nil, fmt.Errorf("inventory of %s: reading its ConfigMap: %w", w.owner, err)
	case live.Labels[v1alpha1.LabelInventory] != isHead:
		return nil, fmt.Errorf("%s: it is in the place of an inventory, and has no label %s=%s", nameOf(live), v1alpha1.LabelInventory, isHead)
	case live.UID == w.held.uid && live.ResourceVersion == w.held.version:
		return live, nil
	case w.held.exists() && live.UID != w.held.uid || !slices.Contains(w.held.tried, markOf(live)):
		return nil, &ConflictError{w.owner}
	}
	w.found(live)
	w.held.text = "" // it is that of some earlier request
	return live, nil
}

// found takes note of a head that this writer wrote.
func (w *writer) found(head *corev1.ConfigMap) {
	w.held.uid, w.held.version, w.held.tried = head.UID, head.ResourceVersion, nil
}
