package fields

import (
	"bytes"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// OwnedSet is the set of the fields that those entries of an object's managedFields
// hold which are chosen.
func OwnedSet(obj *unstructured.Unstructured, chosen func(metav1.ManagedFieldsEntry) bool) (*fieldpath.Set, error) {
	union := &fieldpath.Set{}
	for _, entry := range obj.GetManagedFields() {
		if entry.FieldsV1 == nil || !chosen(entry) {
			continue
		}
		var set fieldpath.Set
		if err := set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
			return nil, fmt.Errorf("managedFields of %s: %w", entry.Manager, err)
		}
		union = union.Union(&set)
	}
	return union, nil
}

// Lost are the fields that a manager has applied to one state of an object and
// holds no more in another, each with who holds it there; a field that was
// removed is held by "".
func Lost(applied, live *unstructured.Unstructured, manager string) ([]LostField, error) {
	own := func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == ""
	}
	before, err := OwnedSet(applied, own)
	if err != nil {
		return nil, err
	}
	now, err := OwnedSet(live, own)
	if err != nil {
		return nil, err
	}
	var lost []LostField
	for path := range before.Difference(now).Leaves().All() {
		field := LostField{Path: pathOf(path)}
		for _, entry := range Entries(live) {
			if entry.Manager != manager && entry.Owns(field.Path) {
				field.Manager = entry.Manager
				break
			}
		}
		lost = append(lost, field)
	}
	return lost, nil
}

// LostField is a field with its manager.
type LostField struct {
	Path    Path
	Manager string
}

// pathOf writes a path as the keys of FieldsV1.
func pathOf(path fieldpath.Path) Path {
	p := make(Path, 0, len(path))
	for _, element := range path {
		key, err := fieldpath.SerializePathElement(element)
		if err != nil {
			break // an element of none of the kinds that there are
		}
		p = append(p, key)
	}
	return p
}
