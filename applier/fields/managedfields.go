package fields

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// operationApply is the operation of an entry that server-side apply wrote.
const operationApply = string(metav1.ManagedFieldsOperationApply)

// Entry is one decoded entry of an object's managedFields.
type Entry struct {
	// Manager is the name of the field manager.
	Manager string
	// Operation is "Apply" for server-side apply and "Update" for any other write.
	Operation string
	// APIVersion is the API version in which the manager wrote the object.
	APIVersion string
	// Subresource is the subresource that was written, "" for the object itself.
	Subresource string
	// Fields are the fields that the manager owns. They are shared with the object.
	Fields Set

	object map[string]any // the object that has the entry
}

// AppliedBy reports whether the entry records what a manager applied to the
// object itself, rather than an update or a write to a subresource.
func (e Entry) AppliedBy(manager string) bool {
	return e.Manager == manager && e.Operation == operationApply && e.Subresource == ""
}

// Owns reports whether the manager owns the field at a path, as a whole or in part.
func (e Entry) Owns(path Path) bool { return e.Fields.contains(path, e.object) }

// Entries returns the entries of an object's managedFields. It reads the decoded
// JSON in place, which is much cheaper than [unstructured.Unstructured.GetManagedFields].
// Entries that don't have the form that the API server writes are left out.
func Entries(obj *unstructured.Unstructured) []Entry {
	list := managedFields(obj)
	entries := make([]Entry, 0, len(list))
	for _, v := range list {
		if entry, ok := decodeEntry(v, obj.Object); ok {
			entries = append(entries, entry)
		}
	}
	return entries
}

// managedFields returns the undecoded entries of an object's managedFields.
func managedFields(obj *unstructured.Unstructured) []any {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	list, _ := metadata["managedFields"].([]any)
	return list
}

// decodeEntry reads one entry of the managedFields of object, and returns false
// if it doesn't have the form that the API server writes.
func decodeEntry(v any, object map[string]any) (Entry, bool) {
	m, _ := v.(map[string]any)
	set, ok := m["fieldsV1"].(map[string]any)
	e := Entry{Fields: set, object: object}
	e.Manager, _ = m["manager"].(string)
	e.Operation, _ = m["operation"].(string)
	e.APIVersion, _ = m["apiVersion"].(string)
	e.Subresource, _ = m["subresource"].(string)
	return e, ok
}

// OwnedSet returns the union of the fields that the selected entries own.
func OwnedSet(obj *unstructured.Unstructured, selects func(Entry) bool) Set {
	owned := Set{}
	for _, entry := range Entries(obj) {
		if selects(entry) {
			owned = owned.union(entry.Fields)
		}
	}
	return owned
}
