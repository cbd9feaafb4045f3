package instance

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Tally adds instances to a tally, takes the last ones away again, and returns the numbers by phase, of
// pinned instances and of versions in use.
func Tally(instances []*unstructured.Unstructured, gone int) (map[string]int, int, map[string]int) {
	t := newTally()
	for _, in := range instances {
		t.add(&memory{instance: in}, 1)
	}
	for _, in := range instances[len(instances)-gone:] {
		t.add(&memory{instance: in}, -1)
	}
	return t.phases, t.pinned, t.used
}
