package configmap

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/inventory"
)

// Save writes an inventory that was loaded or saved by this store, or that is
// new. What is stored as it is needs no request. If somebody else saved it in
// between, that is a [*ConflictError]. After any other error nobody knows
// whether it was saved: call Save again with the same inventory, which it is
// safe to change before.
func (s *Store) Save(ctx context.Context, inv *inventory.Inventory) error {
	text, err := inventory.Encode(inv)
	if err != nil {
		return fmt.Errorf("inventory of %s: %w", inv.Owner, err)
	}
	h := heldOf(inv)
	if h.exists() && h.text == string(text) && len(h.tried) == 0 {
		return nil
	}
	w := writer{store: s, owner: inv.Owner, held: h}
	err = w.save(ctx, text)
	inv.Stored = w.held
	return err
}

// writer saves one inventory. What it learns about what is stored, it keeps in
// held, also where it ends in an error.
type writer struct {
	store *Store
	owner inventory.Owner
	held  held
}

func (w *writer) save(ctx context.Context, text []byte) error {
	data := map[string]string{keyInventory: string(text)}
	var parts []part
	if len(text) > w.store.limit {
		var err error
		if parts, err = w.saveParts(ctx, inventory.Split(text, w.store.limit)); err != nil {
			return err
		}
		list, err := json.Marshal(partList{inventory.Format, parts})
		if err != nil {
			return err
		}
		data = map[string]string{keyParts: string(list)}
	}
	if err := w.saveHead(ctx, data); err != nil {
		return err
	}
	spare := slices.DeleteFunc(slices.Concat(w.held.parts, w.held.own, w.held.spare), func(p part) bool { return slices.Contains(parts, p) })
	w.held.text, w.held.parts, w.held.own, w.held.spare = string(text), parts, nil, spare
	w.sweep(ctx)
	return nil
}

// saveParts makes those parts that aren't stored. They belong to the head, so
// that the cluster removes them with it; a new inventory is an empty one first.
func (w *writer) saveParts(ctx context.Context, texts [][]byte) ([]part, error) {
	if !w.held.exists() {
		empty, err := inventory.Encode(&inventory.Inventory{Owner: w.owner})
		if err != nil {
			return nil, err
		}
		if err := w.saveHead(ctx, map[string]string{keyInventory: string(empty)}); err != nil {
			return nil, err
		}
		w.held.text = string(empty)
	}
	stored := slices.Concat(w.held.parts, w.held.own)
	var parts []part
	for _, text := range texts {
		sum := inventory.Checksum(text)
		if at := slices.IndexFunc(stored, func(p part) bool { return p.SHA256 == sum }); at >= 0 {
			parts = append(parts, stored[at])
			continue
		}
		made, err := w.store.create(ctx, w.partOf(text, sum))
		if err != nil {
			return nil, fmt.Errorf("inventory of %s: writing a part of it: %w", w.owner, err)
		}
		p := part{made.Name, sum}
		w.held.own = append(slices.Clone(w.held.own), p)
		parts = append(parts, p)
	}
	return parts, nil
}

// partOf is a part that is to be made. Its name has the content's checksum, and
// characters from the API server that no part before it had: one that is about
// to be removed is never mistaken for it.
func (w *writer) partOf(text []byte, sum string) *corev1.ConfigMap {
	immutable := true
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: partPrefix + sum[:12] + "-",
			Namespace:    w.owner.Namespace,
			Labels:       labelsOf(w.owner, isPart),
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "v1", Kind: "ConfigMap", Name: headName(w.owner), UID: w.held.uid},
			},
		},
		Data:      map[string]string{keyPart: string(text)},
		Immutable: &immutable,
	}
}

// sweep removes the parts that no head names any more. They were there before
// the head was changed: whoever may still name one of them in a head will find
// that it was.
func (w *writer) sweep(ctx context.Context) {
	var left []part
	for _, p := range w.held.spare {
		err := w.store.remove(ctx, w.owner.Namespace, p.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			// The inventory is saved, which is what the caller asked for; the part
			// goes with the next save or with the head.
			left = append(left, p)
		}
	}
	w.held.spare = left
}
