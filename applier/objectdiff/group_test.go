package objectdiff

import (
	"fmt"
	"slices"
	"testing"
)

// Instances that change alike are a group, and those whose values differ in more ways than a
// reader compares.
func TestGroupsOf(t *testing.T) {
	type change struct{ field, value string }
	key := func(n int, c change) GroupKey {
		in := Instance{Kind: "Shop", Namespace: "d", Name: fmt.Sprint("shop", n), Graph: fmt.Sprint("shop-shop", n)}
		object := func(value, file string) []Object {
			objects, err := FromManifest(map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
				"metadata": map[string]any{"name": in.Name, "namespace": "d"}, "data": map[string]any{c.field: value}}, file)
			if err != nil {
				t.Fatal(err)
			}
			return objects
		}
		return in.Key(Compare(object("old", ""), object(c.value, fmt.Sprint("file", n))))
	}
	for _, test := range []struct {
		name    string
		changes []change
		want    []int
	}{
		{"alike", []change{{"a", "x"}, {"a", "x"}}, []int{1, 1}},
		{"other values", []change{{"a", "x"}, {"a", "y"}, {"a", "x"}}, []int{1, 2, 1}},
		{"other fields", []change{{"a", "x"}, {"b", "x"}}, []int{1, 2}},
		{"as many values as a reader compares", []change{{"a", "1"}, {"a", "2"}, {"a", "3"}, {"a", "4"}, {"a", "5"}}, []int{1, 2, 3, 4, 5}},
		{"more values", []change{{"a", "1"}, {"a", "2"}, {"a", "3"}, {"b", "x"}, {"a", "4"}, {"a", "5"}, {"a", "6"}}, []int{1, 1, 1, 2, 1, 1, 1}},
	} {
		var keys []GroupKey
		for n, c := range test.changes {
			keys = append(keys, key(n, c))
		}
		if got := GroupsOf(keys); !slices.Equal(got, test.want) {
			t.Errorf("%s: groups %v; want %v", test.name, got, test.want)
		}
	}
}
