package graph

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestLiteralSecretKeys(t *testing.T) {
	for _, test := range []struct {
		name, object string
		want         []string
	}{
		{"literal", "{apiVersion: v1, kind: Secret, data: {b: eA==, a: eA==}, stringData: {c: x}}", []string{"data.a", "data.b", "stringData.c"}},
		{"late", "{apiVersion: v1, kind: Secret, data: {a: {$from: x.y}}, stringData: {b: {$generate: {length: 3}}, c: x, d: null}}", []string{"stringData.c"}},
		{"all late", "{apiVersion: v1, kind: Secret, data: {$from: x.data}}", nil},
		{"odd", "{apiVersion: v1, kind: Secret, data: text, stringData: {a: {b: c}}}", []string{"data", "stringData.a"}},
		{"none", "{apiVersion: v1, kind: Secret, type: Opaque}", nil},
		{"another kind", "{apiVersion: v1, kind: ConfigMap, data: {a: b}}", nil},
		{"another group", "{apiVersion: example.com/v1, kind: Secret, data: {a: b}}", nil},
		{"nothing", "{}", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			var object map[string]any
			if err := yaml.Unmarshal([]byte(test.object), &object); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, LiteralSecretKeys(object)); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
		})
	}
}
