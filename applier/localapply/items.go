package localapply

import (
	"bytes"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// withoutItems returns entries of managedFields in which lists are atomic: a manager
// of a part of a list is a manager of the list. Without types, a merge could not
// remove an item without removing its list.
func withoutItems(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	for i := range entries {
		entry := &entries[i]
		if entry.FieldsV1 == nil || !strings.Contains(string(entry.FieldsV1.GetRawBytes()), `"k:`) &&
			!strings.Contains(string(entry.FieldsV1.GetRawBytes()), `"v:`) {
			continue
		}
		var owned, whole fieldpath.Set
		if owned.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())) != nil {
			continue
		}
		owned.Iterate(func(path fieldpath.Path) {
			for i, element := range path {
				if element.FieldName == nil {
					path = path[:i]
					break
				}
			}
			whole.Insert(path.Copy())
		})
		if data, err := whole.ToJSON(); err == nil {
			entry.FieldsV1 = metav1.NewFieldsV1(string(data))
		}
	}
	return entries
}
