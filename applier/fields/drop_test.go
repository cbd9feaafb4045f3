package fields_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/applier/fields"
)

func set(t *testing.T, text string) *fieldpath.Set {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s := &fieldpath.Set{}
	if err := s.FromJSON(strings.NewReader(string(raw))); err != nil {
		t.Fatal(err)
	}
	return s
}

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	obj := map[string]any{}
	if err := yaml.Unmarshal(raw, &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

func TestDrop(t *testing.T) {
	const containers = `spec: {containers: [{name: web, image: x, env: [{name: A, value: "1"}]}, {name: side, image: y}]}`
	tests := map[string]struct{ object, held, kept, want string }{
		"nothing held":   {"{a: 1}", "{}", "{}", "{a: 1}"},
		"all kept":       {"{a: 1}", "{'f:a': {}}", "{'f:a': {}}", "{a: 1}"},
		"a field":        {"{a: 1, b: 2}", "{'f:a': {}, 'f:b': {}}", "{'f:b': {}}", "{b: 2}"},
		"absent already": {"{b: 2}", "{'f:a': {}}", "{}", "{b: 2}"},
		"a map that others use": {
			"{labels: {a: x, b: y}}", "{'f:labels': {'.': {}, 'f:a': {}}}", "{'f:labels': {'f:b': {}}}", "{labels: {b: y}}",
		},
		"a map that is left empty": {
			"{labels: {a: x}, c: 1}", "{'f:labels': {'.': {}, 'f:a': {}}}", "{}", "{c: 1}",
		},
		"a value as a whole": {"{selector: {a: x, b: y}}", "{'f:selector': {}}", "{}", "{}"},
		"an item": {
			containers,
			`{'f:spec': {'f:containers': {'k:{"name":"side"}': {'.': {}, 'f:name': {}, 'f:image': {}}}}}`, "{}",
			`spec: {containers: [{name: web, image: x, env: [{name: A, value: "1"}]}]}`,
		},
		"an item that others use": {
			containers,
			`{'f:spec': {'f:containers': {'k:{"name":"side"}': {'.': {}, 'f:name': {}}}}}`, "{}",
			containers,
		},
		"in an item": {
			containers,
			`{'f:spec': {'f:containers': {'k:{"name":"web"}': {'.': {}, 'f:name': {}, 'f:image': {}, 'f:env': {'.': {}, 'k:{"name":"A"}': {'.': {}, 'f:name': {}, 'f:value': {}}}}}}}`,
			`{'f:spec': {'f:containers': {'k:{"name":"web"}': {'.': {}, 'f:name': {}, 'f:image': {}}}}}`,
			`spec: {containers: [{name: web, image: x}, {name: side, image: y}]}`,
		},
		"a member of a set": {
			"{finalizers: [a, b]}", `{'f:finalizers': {'.': {}, 'v:"a"': {}}}`, "{}", "{finalizers: [b]}",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := object(t, test.object)
			dropped := fields.RemoveUnowned(got, set(t, test.held), set(t, test.kept))
			if diff := cmp.Diff(object(t, test.want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if changed := test.object != test.want; dropped != changed {
				t.Errorf("says that something was removed: %v", dropped)
			}
		})
	}
}

func TestLost(t *testing.T) {
	obj := func(entries ...metav1.ManagedFieldsEntry) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetManagedFields(entries)
		return o
	}
	entry := func(manager, operation, set string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationType(operation),
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(set),
		}
	}
	applied := obj(entry("pequod", "Apply", `{"f:data":{"f:a":{},"f:b":{},"f:c":{}}}`))
	live := obj(
		entry("pequod", "Apply", `{"f:data":{"f:a":{}}}`),
		entry("kubectl-edit", "Update", `{"f:data":{"f:b":{},"f:z":{}}}`),
	)
	lost, err := fields.Lost(applied, live, "pequod")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range lost {
		got = append(got, f.Path.String()+" by "+f.Manager)
	}
	if diff := cmp.Diff([]string{"data.b by kubectl-edit", "data.c by "}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
