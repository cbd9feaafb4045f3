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

// Save writes an inventory that this store loaded or saved before, or a new one.
// It sends no request if nothing has changed.
//
// If another writer saved the inventory in between, Save returns a
// [*ConflictError]. After any other error it is unknown whether the inventory was
// saved; call Save again with the same inventory, which may be modified in
// between.
func (s *Store) Save(ctx context.Context, inv *inventory.Inventory) error {
	text, err := inventory.Encode(inv)
	if err != nil {
		return fmt.Errorf("inventory of %s: %w", inv.Owner, err)
	}
	stored := storedState(inv)
	if stored.exists() && stored.text == string(text) && len(stored.tried) == 0 {
		return nil
	}
	w := writer{store: s, owner: inv.Owner, state: stored}
	err = w.save(ctx, text)
	inv.Stored = w.state
	return err
}

// writer saves one inventory. It keeps what it learns about the stored state in
// state, also if the save fails.
type writer struct {
	store *Store
	owner inventory.Owner
	state state
}

// save writes the parts of a long text, then the head, and then deletes the parts
// that are no longer used. Readers therefore always see a complete inventory, the
// old one or the new one.
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
	spare := slices.DeleteFunc(slices.Concat(w.state.parts, w.state.own, w.state.spare), func(p part) bool { return slices.Contains(parts, p) })
	w.state.text, w.state.parts, w.state.own, w.state.spare = string(text), parts, nil, spare
	w.sweep(ctx)
	return nil
}

// saveParts creates the parts that are not stored yet. A head owns its parts, so
// that the cluster deletes them with it. A new inventory therefore gets an empty
// head first.
func (w *writer) saveParts(ctx context.Context, texts [][]byte) ([]part, error) {
	if !w.state.exists() {
		empty, err := inventory.Encode(&inventory.Inventory{Owner: w.owner})
		if err != nil {
			return nil, err
		}
		if err := w.saveHead(ctx, map[string]string{keyInventory: string(empty)}); err != nil {
			return nil, err
		}
		w.state.text = string(empty)
	}
	stored := slices.Concat(w.state.parts, w.state.own)
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
		w.state.own = append(slices.Clone(w.state.own), p)
		parts = append(parts, p)
	}
	return parts, nil
}

// partOf returns the ConfigMap of a new part. Its name has the checksum of the
// content and a random suffix from the API server, so that a part that is being
// deleted is never mistaken for the new one.
func (w *writer) partOf(text []byte, sum string) *corev1.ConfigMap {
	immutable := true
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: partPrefix + sum[:12] + "-",
			Namespace:    w.owner.Namespace,
			Labels:       labelsOf(w.owner, isPart),
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "v1", Kind: "ConfigMap", Name: headName(w.owner), UID: w.state.uid},
			},
		},
		Data:      map[string]string{keyPart: string(text)},
		Immutable: &immutable,
	}
}

// sweep deletes the parts that no head names. They existed before the head was
// changed, so a writer that still refers to one of them gets a conflict.
func (w *writer) sweep(ctx context.Context) {
	var left []part
	for _, p := range w.state.spare {
		err := w.store.remove(ctx, w.owner.Namespace, p.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			// The inventory itself is saved. The part is deleted by the next save
			// or with its head.
			left = append(left, p)
		}
	}
	w.state.spare = left
}
