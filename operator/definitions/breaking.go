package definitions

import (
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/pequod-io/pequod/crdgen/compat"
)

// Changes returns what a definition changes in the live one, as [compat.Check] does, and in
// addition what it changes for objects that are stored in older versions.
func Changes(live, desired *apiextensionsv1.CustomResourceDefinition) []compat.Change {
	changes := compat.Check(live, desired)
	next := storage(desired)
	for _, version := range live.Status.StoredVersions {
		if version == storage(live) || version == next {
			continue
		}
		// The objects are converted from the old version to the one that is stored from now on.
		old := live.DeepCopy()
		for i := range old.Spec.Versions {
			old.Spec.Versions[i].Storage = old.Spec.Versions[i].Name == version
		}
		for _, c := range compat.Check(old, desired) {
			if c.Version == version+" → "+next {
				changes = append(changes, c)
			}
		}
	}
	slices.SortStableFunc(changes, func(a, b compat.Change) int { return int(a.Severity) - int(b.Severity) })
	return changes
}

// Breaking returns the breaking changes.
func Breaking(changes []compat.Change) []compat.Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c compat.Change) bool { return !c.Breaking() })
}

// Text returns a change as pequod crd check prints it, without the position in a file.
func Text(c compat.Change) string {
	p := c.Problem
	p.Path = strings.TrimSpace(c.Version + " " + c.Path)
	return p.String()
}

// storage returns the name of the version in which objects are stored, or "".
func storage(crd *apiextensionsv1.CustomResourceDefinition) string {
	name, _ := apihelpers.GetCRDStorageVersion(crd) // the error is about a definition without one
	return name
}
