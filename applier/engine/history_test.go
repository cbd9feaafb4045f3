package engine

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A list that has an object in an older version than the known one contradicts it,
// unless the list itself is older.
func TestContradicts(t *testing.T) {
	e := newEnv(t, nodes("a"), nil, Options{})
	e.Observe(configMap(t, self, "a", "u", 100, "1"))
	for _, test := range []struct {
		name, list string
		object     int
		want       bool
	}{
		{"the same", "100", 100, false},
		{"newer", "120", 110, false},
		{"an old list", "99", 90, false},
		{"a new list, an old object", "100", 90, true},
		{"a list without a number", "", 90, false},
	} {
		objects := []unstructured.Unstructured{*configMap(t, self, "a", "u", test.object, "1")}
		if got := e.Contradicts(test.list, objects); got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
	}
}
