package configmap

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/inventory"
)

// Remove removes an inventory that was loaded or saved by this store, and does
// nothing where none was stored then. If somebody else saved it in between, that is a
// [*ConflictError].
func (s *Store) Remove(ctx context.Context, inv *inventory.Inventory) error {
	w := writer{store: s, owner: inv.Owner, held: heldOf(inv)}
	if !w.held.exists() && len(w.held.tried) == 0 {
		return nil
	}
	err := w.remove(ctx)
	if err == nil {
		w.held = held{}
	}
	inv.Stored = w.held
	return err
}

func (w *writer) remove(ctx context.Context) error {
	var err error
	for range headTries {
		if err = w.deleteHead(ctx); err == nil || apierrors.IsNotFound(err) {
			return nil
		}
		if !apierrors.IsConflict(err) {
			break
		}
		live, err := w.look(ctx)
		switch {
		case errors.Is(err, errGone):
			return nil // by a request of ours whose answer was lost, or by somebody else
		case err != nil:
			return err
		case live == nil:
			return nil
		}
	}
	return fmt.Errorf("inventory of %s: removing its ConfigMap: %w", w.owner, err)
}

// deleteHead deletes the head if it is as it was; the cluster deletes its parts.
func (w *writer) deleteHead(ctx context.Context) error {
	background := metav1.DeletePropagationBackground
	return w.store.remove(ctx, w.owner.Namespace, headName(w.owner), metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &w.held.uid, ResourceVersion: &w.held.version},
		PropagationPolicy: &background,
	})
}
