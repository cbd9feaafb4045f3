package resolve

import (
	"maps"

	"github.com/pequod-io/pequod/api/reference"
)

// lastApplied is the annotation in which kubectl apply stores a copy of the whole
// object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// withoutValues returns a copy of a Secret whose keys can be listed and whose
// values can't be read: reading one is an error with the message why. It also
// removes the annotation that has a copy of the values. The Secret isn't changed.
func withoutValues(secret map[string]any, why string) map[string]any {
	secret = maps.Clone(secret)
	for _, field := range []string{"data", "stringData"} {
		values, ok := secret[field].(map[string]any)
		if !ok {
			delete(secret, field)
			continue
		}
		values = maps.Clone(values)
		for key := range values {
			values[key] = reference.Refuse(why)
		}
		secret[field] = values
	}
	metadata, _ := secret["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if _, ok := annotations[lastApplied]; ok {
		metadata, annotations = maps.Clone(metadata), maps.Clone(annotations)
		delete(annotations, lastApplied)
		metadata["annotations"] = annotations
		secret["metadata"] = metadata
	}
	return secret
}
