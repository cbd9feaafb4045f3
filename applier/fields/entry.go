package fields

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Entry is an entry of managedFields, with its FieldsV1 as decoded JSON.
type Entry struct {
	Manager, Operation, Subresource string
	Fields                          map[string]any

	object map[string]any // whose fields these are
}

// Applied says whether the entry is what a manager applied to the object itself.
func (e Entry) Applied(manager string) bool {
	return e.Manager == manager && e.Operation == "Apply" && e.Subresource == ""
}

// Owns says whether the entry has the field at a path, as a whole or in part.
func (e Entry) Owns(path Path) bool {
	set, live := e.Fields, any(e.object)
	for _, key := range path {
		key, ok := match(set, key, live)
		if !ok {
			return false
		}
		below, _ := set[key].(map[string]any)
		if len(below) == 0 {
			return true // the set has the value above the path as a whole
		}
		set = below
		live, _ = item(key, live)
	}
	return true
}

// Entries reads an object's managedFields without converting them; what isn't
// as the API server writes it is left out.
func Entries(obj *unstructured.Unstructured) []Entry {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	list, _ := metadata["managedFields"].([]any)
	entries := make([]Entry, 0, len(list))
	for _, v := range list {
		m, _ := v.(map[string]any)
		set, ok := m["fieldsV1"].(map[string]any)
		if !ok {
			continue
		}
		e := Entry{Fields: set, object: obj.Object}
		e.Manager, _ = m["manager"].(string)
		e.Operation, _ = m["operation"].(string)
		e.Subresource, _ = m["subresource"].(string)
		entries = append(entries, e)
	}
	return entries
}
