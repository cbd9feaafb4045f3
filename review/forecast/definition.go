package forecast

import (
	"maps"
	"slices"

	"github.com/pequod-io/pequod/applier/objectdiff"
)

// storedVersionRemoved reports whether a CustomResourceDefinition loses a version that
// objects were stored in.
func (s *subject) storedVersionRemoved() bool {
	versions := func(o *objectdiff.Object, stored bool) []string {
		found := map[string]bool{}
		for _, v := range list(value(o, "spec.versions")) {
			if name, _ := v["name"].(string); !stored || v["storage"] == true {
				found[name] = true
			}
		}
		return slices.Collect(maps.Keys(found))
	}
	left := versions(s.diff.New(), false)
	return slices.ContainsFunc(versions(s.diff.Old(), true), func(name string) bool { return !slices.Contains(left, name) })
}
