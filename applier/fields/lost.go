package fields

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// LostField is a field that a manager no longer owns.
type LostField struct {
	Path Path
	// Manager is the new owner, "" if the field was removed.
	Manager string
}

// Lost returns the fields that a manager owned in one state of an object, applied,
// and doesn't own in a later state, live. Fields are sorted by path.
func Lost(applied, live *unstructured.Unstructured, manager string) []LostField {
	own := func(e Entry) bool { return e.AppliedBy(manager) }
	var lost []LostField
	for path := range OwnedSet(applied, own).difference(OwnedSet(live, own)).leaves() {
		field := LostField{Path: path}
		for _, entry := range Entries(live) {
			if entry.Manager != manager && entry.Owns(path) {
				field.Manager = entry.Manager
				break
			}
		}
		lost = append(lost, field)
	}
	return lost
}
