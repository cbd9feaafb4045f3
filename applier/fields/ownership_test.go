package fields_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/applier/fields"
)

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

func TestRemoveUnowned(t *testing.T) {
	const containers = `spec: {containers: [{name: web, image: x, env: [{name: A, value: "1"}]}, {name: side, image: y}]}`
	tests := map[string]struct{ object, owned, kept, want string }{
		"nothing owned":  {"{a: 1}", "{}", "{}", "{a: 1}"},
		"all kept":       {"{a: 1}", "{'f:a': {}}", "{'f:a': {}}", "{a: 1}"},
		"a field":        {"{a: 1, b: 2}", "{'f:a': {}, 'f:b': {}}", "{'f:b': {}}", "{b: 2}"},
		"already absent": {"{b: 2}", "{'f:a': {}}", "{}", "{b: 2}"},
		"a map that others own fields of": {
			"{labels: {a: x, b: y}}", "{'f:labels': {'.': {}, 'f:a': {}}}", "{'f:labels': {'f:b': {}}}", "{labels: {b: y}}",
		},
		"a map that becomes empty": {
			"{labels: {a: x}, c: 1}", "{'f:labels': {'.': {}, 'f:a': {}}}", "{}", "{c: 1}",
		},
		// kubectl apply created the map with its only key, which kubectl rollout restart owns now.
		"a map whose last field others took": {
			"{annotations: {a: x}}", "{'f:annotations': {}}", "{'f:annotations': {'f:a': {}}}", "{annotations: {a: x}}",
		},
		"a value as a whole": {"{selector: {a: x, b: y}}", "{'f:selector': {}}", "{}", "{}"},
		"an item": {
			containers,
			`{'f:spec': {'f:containers': {'k:{"name":"side"}': {'.': {}, 'f:name': {}, 'f:image': {}}}}}`, "{}",
			`spec: {containers: [{name: web, image: x, env: [{name: A, value: "1"}]}]}`,
		},
		"an item that others own fields of": {
			containers,
			`{'f:spec': {'f:containers': {'k:{"name":"side"}': {'.': {}, 'f:name': {}}}}}`, "{}",
			containers,
		},
		"a field in an item": {
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
			removed := fields.RemoveUnowned(got, object(t, test.owned), object(t, test.kept))
			if diff := cmp.Diff(object(t, test.want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if changed := test.object != test.want; removed != changed {
				t.Errorf("reports removal: %v, want %v", removed, changed)
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
	var got []string
	for _, f := range fields.Lost(applied, live, "pequod") {
		got = append(got, f.Path.String()+" by "+f.Manager)
	}
	if diff := cmp.Diff([]string{"data.b by kubectl-edit", "data.c by "}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
