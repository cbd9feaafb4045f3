package configmap

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/inventory"
)

// Remove deletes an inventory that this store loaded or saved. It does nothing if
// none was stored. If another writer saved the inventory in between, Remove
// returns a [*ConflictError].
func (s *Store) Remove(ctx context.Context, inv *inventory.Inventory) error {
	w := writer{store: s, owner: inv.Owner, state: storedState(inv)}
	if !w.state.exists() && len(w.state.tried) == 0 {
		return nil
	}
	err := w.remove(ctx)
	if err == nil {
		w.state = state{}
	}
	inv.Stored = w.state
	return err
}

// remove sends the delete request, and again if the server reports a conflict
// although the head is unchanged or was written by this writer.
func (w *writer) remove(ctx context.Context) error {
	var err error
	for range headTries {
		if err = w.deleteHead(ctx); err == nil || apierrors.IsNotFound(err) {
			return nil
		}
		if !apierrors.IsConflict(err) {
			break
		}
		live, err := w.resolveConflict(ctx)
		switch {
		case errors.Is(err, errGone):
			return nil // deleted by an earlier request of ours, or by another writer
		case err != nil:
			return err
		case live == nil:
			return nil
		}
	}
	return fmt.Errorf("inventory of %s: removing its ConfigMap: %w", w.owner, err)
}

// deleteHead deletes the head unless it has changed since it was loaded. The
// cluster then deletes its parts.
func (w *writer) deleteHead(ctx context.Context) error {
	background := metav1.DeletePropagationBackground
	return w.store.remove(ctx, w.owner.Namespace, headName(w.owner), metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &w.state.uid, ResourceVersion: &w.state.version},
		PropagationPolicy: &background,
	})
}
